import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { TrustReport } from "../src/commands/trust.ts";
import { type AgentProject, agentProject, jsonLines, says } from "./agent-project.ts";
import { jsonOf, runCli } from "./run-cli.ts";

/** A module that says its name when a session starts. */
const named = (name: string) =>
  `export default (bonsai) => { bonsai.on("session_start", (_, ctx) => ctx.ui.notify("${name} is here")); }`;

function put(folder: string, ...names: string[]): void {
  mkdirSync(folder, { recursive: true });
  for (const name of names) writeFileSync(join(folder, `${name}.ts`), named(name));
}

async function here(project: AgentProject, ...argv: string[]): Promise<readonly string[]> {
  const { stderr } = await project.run(["-p", "hi", ...argv]);
  return [...stderr.matchAll(/(\w+)\s+is\s+here/g)].map(([, name]) => name!);
}

describe("extensions without -e", () => {
  test("are found in the home folder, and left aside by --no-extensions", async () => {
    const project = agentProject(says("ok"));
    put(join(project.home, "extensions"), "users");
    put(project.cwd, "flagged");
    expect(await here(project)).toEqual(["users"]);
    expect(await here(project, "--no-extensions")).toEqual([]);
    expect(await here(project, "--no-extensions", "-e", "flagged.ts")).toEqual(["flagged"]);
  });

  test("-e with the name of an extension that comes with Bonsai says how to add it", async () => {
    const { code, stderr } = await agentProject(says("ok")).run(["-p", "hi", "-e", "todo"]);
    expect(code).not.toBe(0);
    expect(stderr.replaceAll(/\s+/g, " ")).toContain("run `bonsai extension add todo` once, without -e");
  });

  test("a notice names an extension that cannot be loaded, and the others load", async () => {
    const project = agentProject(says("ok"));
    put(join(project.home, "extensions"), "sound");
    writeFileSync(
      join(project.home, "extensions", "broken.ts"),
      "export default () => { throw new Error('oh no'); }",
    );
    const { code, stdout, stderr } = await project.run(["-p", "hi"]);
    expect([code, stdout]).toEqual([0, "ok\n"]);
    expect(stderr).toContain("oh no");
    expect(stderr).toMatch(/sound\s+is\s+here/);
    const json = await project.run(["--mode", "json", "hi"]);
    expect(jsonLines(json.stderr).map(({ notice }) => (notice as { code: string }).code)).toContain(
      "extension_failed",
    );
    const rpc = await project.run(["--mode", "rpc"], { stdin: '{"type":"get_extensions"}\n' });
    expect(jsonLines(rpc.stdout)[0]).toMatchObject({
      type: "notice",
      level: "warning",
      code: "extension_failed",
    });
    expect(jsonLines(rpc.stdout).find(({ type }) => type === "response")).toMatchObject({
      data: {
        loaded: [{ path: join(project.home, "extensions", "sound.ts"), origin: "user" }],
        failed: [
          {
            path: join(project.home, "extensions", "broken.ts"),
            error: { message: expect.stringContaining("oh no") },
          },
        ],
      },
    });
  });

  test("a project's extensions wait for trust, and trust lists them", async () => {
    const project = agentProject(says("ok"));
    const own = join(project.cwd, ".bonsai");
    put(join(own, "extensions"), "projects");
    const before = await project.run(["-p", "hi"]);
    expect(before.code).toBe(0);
    expect(before.stderr.replaceAll(/\s+/g, " ")).toContain(
      "Ignored .bonsai/extensions: this project is not trusted. Run `bonsai trust` to list and trust",
    );
    expect(before.stderr).not.toContain("is here");
    writeFileSync(join(own, "settings.json"), "{}");
    const cli = { cwd: project.cwd, env: project.env };
    const human = await runCli(["trust"], cli);
    expect(human.stdout).toContain("\n  .bonsai/settings.json\n  .bonsai/extensions/projects.ts\n");
    expect((await jsonOf<TrustReport>(["trust"], cli)).used).toEqual([
      join(own, "settings.json"),
      join(own, "extensions", "projects.ts"),
    ]);
    expect(await here(project)).toEqual(["projects"]);
    expect((await jsonOf<TrustReport>(["trust", "--untrust"], cli)).used).toEqual([]);
    expect(await here(project)).toEqual([]);
    expect(await here(project, "-e", ".bonsai/extensions/projects.ts")).toEqual(["projects"]);
  });

  test("the settings of user and project add up, each from the folder of its file", async () => {
    const project = agentProject(says("ok"));
    const own = join(project.cwd, ".bonsai");
    put(join(project.home, "lib"), "mine");
    put(join(own, "lib"), "ours");
    writeFileSync(join(project.home, "settings.json"), '{"extensions": ["lib/mine.ts"]}');
    writeFileSync(join(own, "settings.json"), '{"extensions": ["./lib/ours.ts"]}');
    expect(await here(project)).toEqual(["mine"]);
    writeFileSync(join(project.home, "trust.json"), JSON.stringify({ folders: [project.cwd] }));
    expect(await here(project)).toEqual(["mine", "ours"]);
  });

  test("a setting that is no list of paths is named with its file", async () => {
    const project = agentProject(says("ok"));
    writeFileSync(join(project.home, "settings.json"), '{"extensions": "mine.ts"}');
    const { code, stderr } = await project.run(["-p", "hi"]);
    expect(code).toBe(1);
    expect(stderr.replaceAll(/\s+/g, " ")).toContain(
      `${join(project.home, "settings.json")}: The setting extensions`,
    );
  });

  test("--debug logs loaded and failed extensions with their times", async () => {
    const project = agentProject(says("ok"));
    put(join(project.home, "extensions"), "sound");
    writeFileSync(join(project.home, "extensions", "broken.ts"), "export default 5");
    expect((await project.run(["-p", "--debug", "hi"])).code).toBe(0);
    const [file] = readdirSync(join(project.home, "logs"));
    const log = readFileSync(join(project.home, "logs", file!), "utf8");
    expect(log).toMatch(/extension loaded path=\S+sound\.ts origin=user ms=\d+/);
    expect(log).toMatch(/extension failed path=\S+broken\.ts code=\w+/);
    expect(log).toMatch(/extensions ready loaded=1 failed=1 ms=\d+/);
  });
});

test("`bonsai models` lists the models that extensions bring", async () => {
  const project = agentProject(says(""), {
    "own.ts": `export default (bonsai) => bonsai.registerProvider("own", {
      api: "openai-chat", baseUrl: "http://127.0.0.1:9/v1", apiKey: "k",
      models: [{ id: "small", name: "Small one", contextWindow: 50000, maxTokens: 1000 }],
    })`,
  });
  const cli = { cwd: project.cwd, env: { ...project.env, OLLAMA_HOST: "127.0.0.1:9" } };
  const rows = await jsonOf<object[]>(["models", "small one", "-e", "own.ts"], cli);
  expect(rows).toMatchObject([{ provider: "own", id: "small", contextWindow: 50_000, usable: true }]);
  expect(await jsonOf(["models", "small one", "--all"], cli)).toEqual([]);
  expect((await runCli(["models", "-e", "nowhere.ts", "--json"], cli)).code).toBe(1);
});
