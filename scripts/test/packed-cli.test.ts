import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { generateWorkday } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { usePackedCommand } from "./packed-command.ts";

const cli = fileURLToPath(new URL("../../packages/cli", import.meta.url));
const command = usePackedCommand();

test("the installed command has one package and tells its version", () => {
  expect(readdirSync(join(command().installed, ".."))).toEqual(["bonsai-agent"]);
  const { version } = JSON.parse(readFileSync(join(cli, "package.json"), "utf8"));
  expect(command().run("--version").stdout.trim()).toBe(version);
});

test("the installed command compacts a session", () => {
  const file = join(command().folder, "workday.jsonl");
  generateWorkday({ file, seed: 3, entries: 300 });
  const before = readFileSync(file);
  const run = command().run(
    "compact",
    file,
    "--digest",
    "-o",
    join(command().folder, "copy.jsonl"),
    "--json",
  );
  expect(run.stderr).toBe("");
  const result = JSON.parse(run.stdout);
  expect(result.status).toBe("compacted");
  expect(result.tokensAfter).toBeLessThan(result.tokensBefore);
  expect(readFileSync(file).equals(before)).toBe(true);
  const last = readFileSync(join(command().folder, "copy.jsonl"), "utf8").trim().split("\n").at(-1)!;
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

/** Libraries ask for these only to use them if they are there. */
const optional = ["supports-color", "kerberos"];

// A name that is looked up at run time is in node_modules of the sources, and nowhere in the bundle.
test("the bundle looks up no package by its name", () => {
  const lookups =
    /(?:__require|createRequire\([^()]*(?:\([^()]*\))?[^()]*\)|(?<!\{)\bimport)\(\s*"([^"]+)"\s*\)|^import[^"\n]*"([^"]+)";/gm;
  const files = readdirSync(join(command().installed, "dist"), { recursive: true, encoding: "utf8" });
  const names = files
    .filter((name) => /\.m?js$/.test(name) && !name.startsWith("photon"))
    .flatMap((name) => {
      const text = readFileSync(join(command().installed, "dist", name), "utf8");
      const found = [...text.matchAll(lookups)].map(([, called, imported]) => called ?? imported!);
      return found.map((each) => ({ name, each, isShipped: name.startsWith("extensions") }));
    })
    .filter(({ each }) => !/^[./]/.test(each) && !each.startsWith("node:") && !builtinModules.includes(each))
    // Shipped extensions get these from the command.
    .filter(({ each, isShipped }) => !(isShipped && /^(@bonsai-agent\/|zod(\/|$))/.test(each)))
    .filter(({ each }) => !optional.includes(each));
  expect(names).toEqual([]);
});
