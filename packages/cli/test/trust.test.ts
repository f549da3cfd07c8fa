import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import type { TrustReport } from "../src/commands/trust.ts";
import { agentProject, says } from "./agent-project.ts";
import { longSession } from "./call/sample-session.ts";
import { jsonOf, runCli } from "./run-cli.ts";

function projectWith(settings: string) {
  const project = agentProject(says("ok"));
  mkdirSync(join(project.cwd, ".bonsai"));
  writeFileSync(join(project.cwd, ".bonsai", "settings.json"), settings);
  const cli = { cwd: project.cwd, env: project.env };
  return { ...project, cli };
}

describe("bonsai trust", () => {
  test("a project's settings are left aside, with a notice, until it is trusted", async () => {
    const { run, cli, home } = projectWith('{"thinking": "hard"}');
    const before = await run(["-p", "hi"]);
    expect(before.code).toBe(0);
    expect(before.stderr.replaceAll(/\s+/g, " ")).toContain("`bonsai trust`");
    expect(await jsonOf<TrustReport>(["trust"], cli)).toEqual({
      folder: cli.cwd,
      trusted: true,
      changed: true,
      used: [join(cli.cwd, ".bonsai", "settings.json")],
      missing: [],
      settings: [{ name: "thinking", value: '"hard"' }],
      servers: [],
    });
    expect(statSync(join(home, "trust.json")).mode & 0o777).toBe(0o600);
    const after = await run(["-p", "hi"]);
    expect(after.code).toBe(1);
    expect(after.stderr.replaceAll(/\s+/g, " ")).toContain(
      `${join(cli.cwd, ".bonsai", "settings.json")}: The setting thinking`,
    );
    expect(await jsonOf<TrustReport>(["trust", "--untrust"], cli)).toMatchObject({
      trusted: false,
      changed: true,
    });
    expect((await run(["-p", "hi"])).code).toBe(0);
  });

  test("lists programs, settings and missing files of the project", async () => {
    const settings = {
      extensions: ["./tools/a.ts", "../pack", "../gone.ts", "/nowhere/x.ts", "npm:some-package"],
      paths: { allow: ["~"] },
      editor: "rm -rf",
      model: "p/m",
    };
    const { cli, cwd } = projectWith(JSON.stringify(settings));
    for (const folder of [".bonsai/extensions", ".bonsai/tools", "pack/src"])
      mkdirSync(join(cwd, folder), { recursive: true });
    for (const file of [".bonsai/extensions/own.ts", ".bonsai/tools/a.ts", "pack/src/b.ts"])
      writeFileSync(join(cwd, file), "export default () => {};");
    symlinkSync("nowhere.ts", join(cwd, ".bonsai/extensions/link.ts"));
    writeFileSync(join(cwd, "pack/package.json"), '{"pi": {"extensions": ["./src/b.ts", "./src/c.ts"]}}');
    const report = await jsonOf<TrustReport>(["trust"], cli);
    const names = [
      ".bonsai/settings.json",
      ".bonsai/extensions/own.ts",
      ".bonsai/tools/a.ts",
      "pack/src/b.ts",
    ];
    expect(report.used).toEqual(names.map((name) => join(cwd, name)));
    expect(report.missing.map(({ path }) => path)).toEqual([
      join(cwd, ".bonsai/extensions/link.ts"),
      join(cwd, "pack/src/c.ts"),
      join(cwd, "gone.ts"),
      "/nowhere/x.ts",
      "npm:some-package",
    ]);
    const { stdout } = await runCli(["trust"], cli);
    for (const name of [...names, "✗ gone.ts: It does not exist.", 'sets model: "p/m"'])
      expect(stdout).toContain(name);
    // They set nothing: a project does not say what may be touched beyond it, nor what the user writes with.
    expect(stdout).not.toMatch(/sets (paths|editor)/);
  });

  test("a notice names user-only settings that a trusted project's file cannot set", async () => {
    const { run, cli } = projectWith('{"paths": {"allow": ["~"]}, "editor": "rm -rf"}');
    await jsonOf(["trust"], cli);
    const { code, stderr } = await run(["-p", "hi"]);
    expect(code).toBe(0);
    for (const name of ["paths", "editor"])
      expect(stderr.replaceAll(/\s+/g, " ")).toContain(`ignored ${name}`);
  });

  test("is printed once a call and also holds for folders below", async () => {
    const { cli, cwd } = projectWith("{}");
    const { stderr } = await runCli(["show", longSession(), "--json"], cli);
    expect(
      stderr
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).notice.code),
    ).toEqual(["project_not_trusted"]);
    expect((await jsonOf<TrustReport>(["trust", ".."], cli)).changed).toBe(true);
    expect((await runCli(["show", longSession(), "--json"], cli)).stderr).toBe("");
    const { trusted, changed } = await jsonOf<TrustReport>(["trust", cwd, "--untrust"], cli);
    expect([trusted, changed]).toEqual([true, false]);
  });

  test("follows links and can revoke the trust of a deleted folder", async () => {
    const { cli, cwd, home } = projectWith("{}");
    const link = join(home, "link");
    symlinkSync(cwd, link);
    await jsonOf(["trust", link], cli);
    expect((await jsonOf<TrustReport>(["trust", cwd], cli)).changed).toBe(false);
    rmSync(cwd, { recursive: true });
    const elsewhere = { ...cli, cwd: home };
    expect(await jsonOf<TrustReport>(["trust", cwd, "--untrust"], elsewhere)).toMatchObject({
      changed: true,
    });
    expect(JSON.parse(readFileSync(join(home, "trust.json"), "utf8"))).toEqual({ folders: [] });
    expect((await runCli(["trust", cwd], elsewhere)).stderr).toContain("folder_not_found");
  });

  test("a damaged trust file is named and trusts nothing", () =>
    everyRow(["{", "[]", '{"folders": "all"}', "null"])(async (text) => {
      const { run, home } = projectWith("{}");
      writeFileSync(join(home, "trust.json"), text);
      const { code, stderr } = await run(["-p", "hi"]);
      expect(code).toBe(1);
      expect(stderr.replaceAll(/\s+/g, " ")).toContain(join(home, "trust.json"));
    }));
});
