import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { firstPartyExtensions } from "../src/call/first-party.ts";
import type { FirstPartyReport, InstallReport, PackageReport } from "../src/packages/add.ts";
import type { ListReport } from "../src/packages/list.ts";
import { folderWith, stubNpm } from "./packages/npm-registry.ts";
import { jsonOf, runCli } from "./run-cli.ts";

const module = "export default () => {};\n";
const manifest = JSON.stringify({
  name: "bonsai-notes",
  version: "1.0.0",
  bonsai: { extensions: ["./notes.ts", "./more.ts"] },
});

const bringsNotes = `mkdir -p node_modules/bonsai-notes && cd node_modules/bonsai-notes && echo '${manifest}' > package.json && touch notes.ts more.ts`;

describe("bonsai install", () => {
  test("suggests the name of an extension that comes with Bonsai", async () => {
    const { cwd, env } = folderWith({});
    const { stderr } = await runCli(["extension", "add", "mpc"], { cwd, env });
    expect(stderr.replaceAll(/\s+/g, " ")).toContain("Did you mean `bonsai extension add mcp`?");
  });

  test("installs a folder, and list and remove know it", async () => {
    const { cwd, env } = folderWith({
      "notes/package.json": manifest,
      "notes/notes.ts": module,
      "notes/more.ts": module,
    });
    const folder = join(cwd, "notes");
    const report = { name: "bonsai-notes", version: "1.0.0", source: folder, folder };
    const extensions = [join(folder, "notes.ts"), join(folder, "more.ts")];
    expect(await jsonOf<InstallReport>(["install", "./notes"], { cwd, env })).toEqual({
      ...report,
      extensions,
      resources: [],
      replaced: null,
    });
    expect(await jsonOf<ListReport>(["list"], { cwd, env })).toEqual({
      packages: [{ ...report, extensions, resources: [], problems: [] }],
      extensions: [],
      problems: [],
    });
    expect(await jsonOf<PackageReport>(["remove", "bonsai-notes"], { cwd, env })).toEqual(report);
    expect(await jsonOf<ListReport>(["list"], { cwd, env })).toEqual({
      packages: [],
      extensions: [],
      problems: [],
    });
    expect(existsSync(folder)).toBe(true);
  });

  test("adds a shipped extension without npm, and lists, runs and removes it", async () => {
    const { cwd, env } = folderWith({
      "play.json": JSON.stringify({ contextWindow: 100_000, turn: [{ text: "Done." }] }),
    });
    const options = { cwd, env: { ...env, PATH: "" } };
    const added = await runCli(["extension", "add", "todo"], options);
    expect(added.stdout).toContain("Added @bonsai-agent/todo");
    expect(added.stdout).toContain("It comes with bonsai");
    const { packages } = await jsonOf<ListReport>(["extension", "list"], options);
    expect(packages).toMatchObject([{ name: "@bonsai-agent/todo", source: "shipped:todo", problems: [] }]);
    const events = await runCli(
      ["--mode", "json", "--model", "scripted/play.json", "--no-session", "go"],
      options,
    );
    expect([events.code, events.stderr]).toEqual([0, ""]);
    const removed = await jsonOf<PackageReport>(["extension", "remove", "todo"], options);
    expect(removed.source).toBe("shipped:todo");
  });

  test("installs a package of npm, with the npm on the PATH", async () => {
    const { cwd, env } = folderWith({});
    const options = { cwd, env: { ...env, ...stubNpm(bringsNotes) } };
    const report = await jsonOf<InstallReport>(["install", "npm:bonsai-notes@^1"], options);
    expect(report).toMatchObject({ name: "bonsai-notes", version: "1.0.0", source: "npm:bonsai-notes@^1" });
    const again = await runCli(["install", "npm:bonsai-notes"], options);
    expect(again.stdout).toContain("Added bonsai-notes 1.0.0  before: npm:bonsai-notes@^1\n");
    expect(again.stdout).toContain("scripts were not run");
    const removed = await runCli(["remove", "bonsai-notes"], options);
    expect(removed.stdout).toBe("Removed bonsai-notes 1.0.0\n");
    expect(readdirSync(join(cwd, "home", "packages"))).toEqual([]);
  });

  test("an installed extension runs in a session from then on, until it is removed", async () => {
    const { cwd, env } = folderWith({
      "says.ts": `export default (bonsai: any) => { bonsai.on("session_start", (_: any, ctx: any) => ctx.ui.notify("I am here")); };`,
      "scenario.json": JSON.stringify({ contextWindow: 100_000, turn: [{ text: "ok" }], atEnd: "repeat" }),
    });
    const prompt = ["-p", "hi", "--no-session", "--model", "scripted/scenario.json"];
    await jsonOf(["install", "says.ts"], { cwd, env });
    expect((await runCli(prompt, { cwd, env })).stderr).toContain("I am here");
    await jsonOf(["remove", "says.ts"], { cwd, env });
    expect((await runCli(prompt, { cwd, env })).stderr).not.toContain("I am here");
  });

  test("ends with 130 after a signal and installs nothing", async () => {
    const { cwd, env } = folderWith({});
    const options = {
      cwd,
      env: { ...env, ...stubNpm("sleep 1000") },
      signal: AbortSignal.abort(new Error("stop")),
    };
    const { code, stdout, stderr } = await runCli(["install", "npm:bonsai-notes", "--json"], options);
    expect([code, stdout]).toEqual([130, ""]);
    expect(JSON.parse(stderr)).toEqual({
      notice: { code: "cancelled", message: "Cancelled. npm:bonsai-notes was not added." },
    });
    expect(existsSync(join(cwd, "home"))).toBe(false);
  });

  test("a failure has its error code", () =>
    everyRow([
      [["install", "bonsai-notes"], "package_not_found"],
      [["install", "git@host:x/y.git"], "package_source_invalid"],
      [["remove", "bonsai-notes"], "package_not_installed"],
    ])(async ([argv, errorCode]) => {
      const { cwd, env } = folderWith({});
      const { code, stdout, stderr } = await runCli([...argv, "--json"], { cwd, env });
      expect([code, stdout, JSON.parse(stderr).error.code]).toEqual([1, "", errorCode]);
    }));
});

describe("bonsai list", () => {
  const files = {
    "notes/package.json": manifest,
    "notes/notes.ts": module,
    "notes/more.ts": module,
    "lone.ts": module,
    "named.ts": module,
    "home/extensions/mine.ts": module,
    "home/settings.json": '{"extensions": ["../named.ts", "../gone.ts"]}',
    ".bonsai/extensions/ours.ts": module,
  };

  test("lists packages, other extensions with their origin, and problems", async () => {
    const { cwd, env } = folderWith(files);
    await jsonOf(["install", "./notes"], { cwd, env });
    await jsonOf(["install", "./lone.ts"], { cwd, env });
    await jsonOf(["trust"], { cwd, env });
    writeFileSync(join(cwd, "home", "packages", "damaged.json"), "{");
    writeFileSync(join(cwd, "notes", "package.json"), manifest.replace("more", "lost"));
    const report = await jsonOf<ListReport>(["list"], { cwd, env });
    expect(report.packages.map(({ name, extensions }) => [name, extensions])).toEqual([
      [join(cwd, "lone.ts"), [join(cwd, "lone.ts")]],
      ["bonsai-notes", [join(cwd, "notes", "notes.ts")]],
    ]);
    expect(report.packages.flatMap(({ problems }) => problems)).toEqual([
      expect.objectContaining({ path: join(cwd, "notes", "lost.ts") }),
    ]);
    expect(report.extensions).toEqual([
      { path: join(cwd, "home", "extensions", "mine.ts"), origin: "user" },
      { path: join(cwd, ".bonsai", "extensions", "ours.ts"), origin: "project" },
      { path: join(cwd, "named.ts"), origin: "settings" },
    ]);
    expect(report.problems.map(({ path }) => path).toSorted()).toEqual([
      join(cwd, "gone.ts"),
      join(cwd, "home", "packages", "damaged.json"),
    ]);
    const { stdout } = await runCli(["list"], { cwd, env, columns: 60 });
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(60);
    for (const word of ["bonsai-notes 1.0.0", "lone.ts", "mine.ts", "project", "lost.ts", "gone.ts"])
      expect(stdout).toContain(word);
  });

  test("leaves the extensions of a project that is not trusted aside, and says so", async () => {
    const { cwd, env } = folderWith(files);
    const { stdout, stderr } = await runCli(["list", "--json"], { cwd, env });
    const { extensions } = JSON.parse(stdout) as ListReport;
    expect(extensions.map(({ origin }) => origin)).toEqual(["user", "settings"]);
    expect(JSON.parse(stderr).notice.code).toBe("project_not_trusted");
  });

  test("says what to do with a package without extensions", async () => {
    const { cwd, env } = folderWith(files);
    await jsonOf(["install", "./notes"], { cwd, env });
    writeFileSync(join(cwd, "notes", "package.json"), "{}");
    const [nothing] = (await jsonOf<ListReport>(["list"], { cwd, env })).packages;
    expect(nothing).toMatchObject({
      extensions: [],
      problems: [{ hint: expect.stringContaining("bonsai extension remove bonsai-notes") }],
    });
  });

  test("runs nothing", async () => {
    const { cwd, env } = folderWith({ "home/extensions/loud.ts": `throw new Error("I ran");` });
    const { code, stdout, stderr } = await runCli(["list"], { cwd, env });
    expect([code, stdout, stderr]).toEqual([0, expect.stringContaining("loud.ts"), ""]);
  });

  test("says how to add an extension if the list is empty", async () => {
    const { cwd, env } = folderWith({});
    expect((await runCli(["list"], { cwd, env })).stdout).toContain("bonsai extension add NAME");
  });
});

describe("first-party extensions", () => {
  test("are listed without a source, with those that are installed", async () => {
    const options = folderWith({});
    const before = await jsonOf<FirstPartyReport[]>(["install"], options);
    expect(before[0]).toEqual({
      name: "mcp",
      package: "@bonsai-agent/mcp",
      description: firstPartyExtensions[0]!.description,
      installed: false,
      version: null,
    });
    await jsonOf(["install", "mcp"], options);
    const after = await jsonOf<FirstPartyReport[]>(["install"], options);
    expect(after.filter(({ installed }) => installed)).toEqual([{ ...before[0], installed: true }]);
    const { stdout } = await runCli(["install"], options);
    expect(stdout).toMatch(/^mcp +.+ installed$/m);
  });

  test("are found by their short name; a path with that name needs ./", async () => {
    const { cwd, env } = folderWith({});
    const options = { cwd, env };
    const report = await jsonOf<InstallReport>(["install", "mcp"], options);
    expect(report).toMatchObject({ name: "@bonsai-agent/mcp", source: "shipped:mcp" });
    expect(await jsonOf<PackageReport>(["remove", "mcp"], options)).toMatchObject({ name: report.name });
    writeFileSync(join(cwd, "mcp"), module);
    expect(await jsonOf<InstallReport>(["install", "mcp"], options)).toMatchObject({ source: "shipped:mcp" });
    const { stderr } = await runCli(["install", "./mcp"], options);
    expect(stderr).toContain(join(cwd, "mcp"));
    const unknown = await runCli(["install", "nothing-such"], options);
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining("nothing-such")]);
  });
});
