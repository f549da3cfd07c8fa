import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { generateWorkday } from "@bonsai-agent/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";

const cli = fileURLToPath(new URL("../../packages/cli", import.meta.url));
let folder: string;

// What a user does: one tarball, one install, and the command is there.
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "bonsai-pack-"));
  execFileSync("pnpm", ["pack", "--pack-destination", folder], { cwd: cli });
  const tarball = join(folder, readdirSync(folder).find((name) => name.endsWith(".tgz"))!);
  execFileSync("npm", ["install", "--global", "--offline", "--prefix", join(folder, "prefix"), tarball]);
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true }));

function bonsai(...args: string[]) {
  return spawnSync(process.execPath, [join(folder, "prefix/bin/bonsai"), ...args], {
    cwd: folder,
    encoding: "utf8",
    input: "",
    env: { ...process.env, BONSAI_HOME: join(folder, "home") },
  });
}

test("the installed command has one package and tells its version", () => {
  expect(readdirSync(join(folder, "prefix/lib/node_modules"))).toEqual(["bonsai-agent"]);
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
  const context = JSON.parse(bonsai("context", join(folder, "copy.jsonl"), "--json").stdout);
  expect(context[0]).toMatchObject({ entryId: result.entryId, role: "compactionSummary" });
  expect(context[1].entryId).toBe(result.firstKeptEntryId);
});

/** One with syntax that Node does not strip, a file of its own, and zod; another as people write them for pi. */
const extensions = {
  "own/index.ts": `
    import type { ExtensionAPI } from "@bonsai-agent/extension";
    import { z } from "zod";
    import { sides, Sides } from "./sides.ts";
    export default function (bonsai: ExtensionAPI) {
      bonsai.registerTool({
        name: "dice", description: "throws a die", parameters: z.object({ kind: z.enum(["small", "large"]) }),
        execute: async (_id, { kind }) => ({ content: [{ type: "text", text: kind + ": " + sides(Sides[kind]) }], details: {} }),
      });
      bonsai.on("session_before_compact", ({ preparation: { firstKeptEntryId, tokensBefore } }) =>
        ({ compaction: { summary: "Much was done.", firstKeptEntryId, tokensBefore } }));
    }`,
  "own/sides.ts": `
    export enum Sides { small = 6, large = 20 }
    export const sides = (count: Sides): string => count + " sides";`,
  "pi.ts": `
    import { StringEnum } from "@earendil-works/pi-ai";
    import { convertToLlm, type ExtensionAPI } from "@earendil-works/pi-coding-agent";
    import { Type } from "typebox";
    export default function (pi: ExtensionAPI) {
      pi.registerTool({
        name: "greet", label: "Greet", description: "greets",
        parameters: Type.Object({ tone: StringEnum(["warm", "cool"] as const), name: Type.String() }),
        execute: async (_id, { tone, name }) =>
          ({ content: [{ type: "text", text: [tone, name, convertToLlm([]).length].join(" ") }], details: {} }),
      });
    }`,
};

test("the installed command runs extensions in an empty folder, its own kind and pi's", () => {
  mkdirSync(join(folder, "own"));
  for (const [name, text] of Object.entries(extensions)) writeFileSync(join(folder, name), text);
  const calls = [
    { name: "dice", arguments: { kind: "large" } },
    { name: "greet", arguments: { tone: "warm", name: "Ada" } },
    { name: "dice", arguments: { kind: "huge" } },
  ];
  const turn = [{ calls }, { text: "Done." }];
  writeFileSync(join(folder, "play.json"), JSON.stringify({ contextWindow: 100_000, turn }));
  const loaded = ["-e", "own", "-e", "pi.ts"];
  const { status, stdout, stderr } = bonsai(
    ...["--mode", "json", ...loaded, "--no-session", "--model", "scripted/play.json", "go"],
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
