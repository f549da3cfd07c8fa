import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { generateWorkday } from "@bonsai-agent/testkit";
import { spawn } from "@lydell/node-pty";
import { expect, test } from "vitest";
import type { HeadlessTerminal } from "../../packages/cli/test/interactive/headless-terminal.ts";
import { terminalOfPty } from "../../packages/cli/test/terminal/pty.ts";
import { usePackedCommand } from "./packed-command.ts";

const cli = fileURLToPath(new URL("../../packages/cli", import.meta.url));
const command = usePackedCommand();

/** The command on a pseudo terminal, until the end of the test. */
function terminalOf(...args: string[]): HeadlessTerminal {
  const pty = spawn(process.execPath, [command().program, ...args], {
    ...{ cols: 100, rows: 30, cwd: command().folder },
    env: command().environment,
  });
  return terminalOfPty(pty);
}

/** A theme has to name all colours. */
function themeFile(): string {
  const { properties } = JSON.parse(readFileSync(join(command().installed, "theme.schema.json"), "utf8"));
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
  writeFileSync(join(command().folder, "draw.json"), JSON.stringify({ contextWindow: 100_000, turn }));
  writeFileSync(join(command().folder, "paint.json"), themeFile());
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
  const sessions = join(command().folder, "drawn");
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
  const file = join(command().folder, "page.jsonl");
  generateWorkday({ file, seed: 5, entries: 60 });
  expect(command().run("search", "the", file).stderr).toBe("");
  const page = join(command().folder, "page.html");
  expect(command().run("export", file, "-o", page).status).toBe(0);
  expect(readFileSync(page, "utf8")).toContain("<script");
});

test("the installed command runs a Bonsai extension, a pi extension and all bundled ones in an empty folder", () => {
  const calls = [
    { name: "dice", arguments: { kind: "large" } },
    { name: "greet", arguments: { tone: "warm", name: "Ada" } },
    { name: "dice", arguments: { kind: "huge" } },
  ];
  const turn = [{ calls }, { text: "Done." }];
  writeFileSync(join(command().folder, "play.json"), JSON.stringify({ contextWindow: 100_000, turn }));
  const shipped = readdirSync(join(command().installed, "dist/extensions"));
  expect(shipped).toContain("mcp");
  const all = shipped.flatMap((name) => ["-e", join(command().installed, "dist/extensions", name)]);
  const loaded = ["-e", "own", "-e", "pi.ts"];
  const { status, stdout, stderr } = command().run(
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
  const file = join(command().folder, "extended.jsonl");
  generateWorkday({ file, seed: 3, entries: 300 });
  const compacted = command().run("compact", file, ...loaded, "--json");
  expect([compacted.status, compacted.stderr]).toEqual([0, ""]);
  expect(JSON.parse(compacted.stdout)).toMatchObject({ status: "compacted", rung: "extension" });
});
