import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { generateWorkday, type InstalledCommand, installCommand } from "@bonsai-agent/testkit";
import { spawn } from "@lydell/node-pty";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { HeadlessTerminal } from "../../packages/cli/test/interactive/headless-terminal.ts";
import { packedExtensions } from "./packed-extensions.ts";

const cli = fileURLToPath(new URL("../../packages/cli", import.meta.url));
let folder: string;
let command: InstalledCommand;

// What a user does: one tarball, one install, and the command is there.
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "bonsai-pack-"));
  command = installCommand(folder);
  mkdirSync(join(folder, "own"));
  for (const [name, text] of Object.entries(packedExtensions)) writeFileSync(join(folder, name), text);
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true }));

const installed = () => command.package;
const environment = () => {
  const { CI: _ci, NODE_OPTIONS: _options, ...inherited } = process.env as Record<string, string>;
  return { ...inherited, HOME: folder, BONSAI_HOME: join(folder, "home"), TERM: "xterm-256color" };
};

function bonsai(...args: string[]) {
  const options = { cwd: folder, encoding: "utf8", input: "", env: environment() } as const;
  return spawnSync(process.execPath, [command.program, ...args], options);
}

/** The command on a pseudo terminal, until the end of the test. */
function terminalOf(...args: string[]): HeadlessTerminal {
  const [columns, rows] = [100, 30];
  const terminal = new HeadlessTerminal({ columns, rows });
  const pty = spawn(process.execPath, [command.program, ...args], {
    ...{ cols: columns, rows, cwd: folder },
    env: environment(),
  });
  terminal.start(
    (data) => pty.write(data),
    () => {},
  );
  pty.onData((data) => terminal.write(data));
  const gone = new Promise<void>((resolve) => pty.onExit(() => resolve()));
  onTestFinished(async () => {
    terminal.stop();
    pty.kill("SIGHUP");
    await gone;
  });
  return terminal;
}

test("the installed command has one package and tells its version", () => {
  expect(readdirSync(join(installed(), ".."))).toEqual(["bonsai-agent"]);
  const { version } = JSON.parse(readFileSync(join(cli, "package.json"), "utf8"));
  expect(bonsai("--version").stdout.trim()).toBe(version);
});

test("the installed command compacts a session", () => {
  const file = join(folder, "workday.jsonl");
  generateWorkday({ file, seed: 3, entries: 300 });
  const before = readFileSync(file);
  const run = bonsai("compact", file, "--digest", "-o", join(folder, "copy.jsonl"), "--json");
  expect(run.stderr).toBe("");
  const result = JSON.parse(run.stdout);
  expect(result.status).toBe("compacted");
  expect(result.tokensAfter).toBeLessThan(result.tokensBefore);
  expect(readFileSync(file).equals(before)).toBe(true);
  const last = readFileSync(join(folder, "copy.jsonl"), "utf8").trim().split("\n").at(-1)!;
  const { entryId: id, firstKeptEntryId } = result;
  expect(JSON.parse(last)).toMatchObject({ type: "compaction", id, firstKeptEntryId });
});

test("the installed command runs a Bonsai extension, a pi extension and all bundled ones in an empty folder", () => {
  const calls = [
    { name: "dice", arguments: { kind: "large" } },
    { name: "greet", arguments: { tone: "warm", name: "Ada" } },
    { name: "dice", arguments: { kind: "huge" } },
  ];
  const turn = [{ calls }, { text: "Done." }];
  writeFileSync(join(folder, "play.json"), JSON.stringify({ contextWindow: 100_000, turn }));
  const shipped = readdirSync(join(installed(), "dist/extensions"));
  expect(shipped).toContain("mcp");
  const all = shipped.flatMap((name) => ["-e", join(installed(), "dist/extensions", name)]);
  const loaded = ["-e", "own", "-e", "pi.ts"];
  const { status, stdout, stderr } = bonsai(
    ...["--mode", "json", ...all, ...loaded, "--no-session", "--model", "scripted/play.json", "go"],
  );
  expect([status, stderr]).toEqual([0, ""]);
  const events = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const messages: { role: string; isError: boolean; content: { text: string }[] }[] = events.at(-1).messages;
  const results = messages.filter(({ role }) => role === "toolResult");
  const said = results.map(({ isError, content }) => [isError, content[0]!.text]);
  expect(said.slice(0, 2)).toEqual([
    [false, "large: 20 sides"],
    [false, "warm Ada 0"],
  ]);
  expect(said[2]).toEqual([true, expect.stringContaining("kind")]);
  const file = join(folder, "extended.jsonl");
  generateWorkday({ file, seed: 3, entries: 300 });
  const compacted = bonsai("compact", file, ...loaded, "--json");
  expect([compacted.status, compacted.stderr]).toEqual([0, ""]);
  expect(JSON.parse(compacted.stdout)).toMatchObject({ status: "compacted", rung: "extension" });
});

/** A theme has to name all colours. */
function themeFile(): string {
  const { properties } = JSON.parse(readFileSync(join(installed(), "theme.schema.json"), "utf8"));
  const names: string[] = properties.colors.required;
  return JSON.stringify({
    name: "Paint",
    colors: Object.fromEntries(names.map((name) => [name, "#ff0000"])),
  });
}

test("an extension of pi draws, asks models and starts programs in the installed command", async () => {
  const turn = [
    { calls: [{ name: "shout", arguments: { text: "loud" } }] },
    { calls: [{ name: "facts" }] },
    { text: "That is all." },
  ];
  writeFileSync(join(folder, "draw.json"), JSON.stringify({ contextWindow: 100_000, turn }));
  writeFileSync(join(folder, "paint.json"), themeFile());
  const terminal = terminalOf("-e", "drawn.ts", "--session-dir", "drawn", "--model", "scripted/draw.json");
  await terminal.until("[ editor of an extension ]");
  terminal.type("Shout.");
  terminal.press("enter");
  await terminal.until("shouting loud");
  await terminal.until("That is all.");
  terminal.send("\x1bo");
  await terminal.until("overlay 24");
  terminal.press("esc");
  await terminal.until((screen) => !screen.includes("overlay 24"));
  const { version } = JSON.parse(readFileSync(join(cli, "package.json"), "utf8"));
  const sessions = join(folder, "drawn");
  const [file = ""] = readdirSync(sessions, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".jsonl"),
  );
  const lines = readFileSync(join(sessions, file), "utf8").trim().split("\n");
  const results = lines
    .map((line) => JSON.parse(line).message)
    .filter((message) => message?.role === "toolResult");
  expect(results.map(({ isError }) => isError)).toEqual([false, false]);
  expect(JSON.parse(results[1].content[0].text)).toEqual({
    complete: 'echo of "hi"',
    agent: 'echo of [{"type":"text","text":"there"}]',
    child: expect.stringContaining("child"),
    image: "1x1",
    pi: version,
    skill: true,
    theme: "Paint",
  });
});

test("the installed command searches sessions and writes pages", () => {
  const file = join(folder, "page.jsonl");
  generateWorkday({ file, seed: 5, entries: 60 });
  expect(bonsai("search", "the", file).stderr).toBe("");
  const page = join(folder, "page.html");
  expect(bonsai("export", file, "-o", page).status).toBe(0);
  expect(readFileSync(page, "utf8")).toContain("<script");
});

/** Libraries ask for these only to use them if they are there. */
const optional = ["supports-color", "kerberos"];

// A name that is looked up at run time is in node_modules of the sources, and nowhere in the bundle.
test("the bundle looks up no package by its name", () => {
  const lookups =
    /(?:__require|createRequire\([^()]*(?:\([^()]*\))?[^()]*\)|(?<!\{)\bimport)\(\s*"([^"]+)"\s*\)|^import[^"\n]*"([^"]+)";/gm;
  const files = readdirSync(join(installed(), "dist"), { recursive: true, encoding: "utf8" });
  const names = files
    .filter((name) => /\.m?js$/.test(name) && !name.startsWith("photon"))
    .flatMap((name) => {
      const text = readFileSync(join(installed(), "dist", name), "utf8");
      const found = [...text.matchAll(lookups)].map(([, called, imported]) => called ?? imported!);
      return found.map((each) => ({ name, each, isShipped: name.startsWith("extensions") }));
    })
    .filter(({ each }) => !/^[./]/.test(each) && !each.startsWith("node:") && !builtinModules.includes(each))
    // Shipped extensions get these from the command.
    .filter(({ each, isShipped }) => !(isShipped && /^(@bonsai-agent\/|zod(\/|$))/.test(each)))
    .filter(({ each }) => !optional.includes(each));
  expect(names).toEqual([]);
});
