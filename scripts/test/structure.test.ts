import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkCycles } from "../structure/cycles.ts";
import { checkEnglish } from "../structure/english.ts";
import { checkLayers } from "../structure/layers.ts";
import { checkNamedFiles } from "../structure/named-files.ts";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "bonsai-structure-"));
  for (const name of ["messages", "session"])
    write(`packages/${name}/package.json`, `{ "name": "@bonsai-agent/${name}" }`);
  write("packages/messages/src/index.ts", "export {};\n");
  write("packages/session/src/messages.ts", 'export type { Message } from "@bonsai-agent/messages";\n');
});
afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, text: string): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const order = { packages: ["messages", "session"] };

test.each([
  ["statically", 'import { project } from "@bonsai-agent/session";'],
  ["by a subpath", 'export { x } from "@bonsai-agent/session/host";'],
  ["dynamically", 'await f([import("@bonsai-agent/session")]);'],
  ["by a path", 'import "../../session/src/messages.ts";'],
])("reports an import of a package above: %s", (_, source) => {
  expect(checkLayers(root, order)).toEqual([]);
  write("packages/messages/src/a.ts", `${source}\n`);
  expect(checkLayers(root, order)).toEqual([
    "packages/messages/src/a.ts imports session, which is not below it",
  ]);
});

test("reports imports of a folder above or beside, and parts without a place or a source", () => {
  write("packages/session/src/search/scan.ts", 'import { read } from "../store/read.ts";\n');
  write("packages/session/src/store/read.ts", 'import "./line.ts";\n');
  const inOrder = (...parts: (string | string[])[]) => checkLayers(root, { "packages/session/src": parts });
  expect(inOrder("messages.ts", "store", "search")).toEqual([]);
  const upward = "packages/session/src/search/scan.ts imports store, which is not below it";
  expect(inOrder("messages.ts", "search", "store")).toEqual([upward]);
  expect(inOrder("messages.ts", ["search", "store"])).toEqual([upward]);
  expect(inOrder("store", "search", "attic")).toEqual([
    "packages/session/src/messages.ts has no place in ORDER in layers.ts",
    "ORDER in layers.ts names packages/session/src/attic, which has no source",
  ]);
});

test.each([
  ["statically", 'import { a } from "./a.ts";'],
  ["for a type", 'import type { A } from "../src/a.ts";'],
  ["dynamically", 'const a = () => import("./a.ts");'],
  ["as an export", 'export {\n  a,\n} from "./a.ts";'],
])("reports a file that imports itself through others %s", (_, source) => {
  write("packages/session/src/a.ts", 'import "./b.ts";\nimport "./c.ts";\n');
  write("packages/session/src/b.ts", 'import "./c.ts";\n');
  write("packages/session/src/c.ts", 'import "./messages.ts";\n');
  expect(checkCycles(root)).toEqual([]);
  write("packages/session/src/c.ts", `${source}\n`);
  const folder = "packages/session/src";
  expect(checkCycles(root)).toEqual([
    `import cycle: ${folder}/a.ts > ${folder}/b.ts > ${folder}/c.ts > ${folder}/a.ts`,
  ]);
});

test("reports a static import of a folder that must be loaded with import()", () => {
  write("packages/cli/package.json", '{ "name": "bonsai-agent" }');
  write("packages/cli/src/interactive/mode.ts", 'import "./screen.ts";\n');
  write("packages/cli/src/a.ts", 'const mode = await import("./interactive/mode.ts");\n');
  expect(checkLayers(root, {})).toEqual([]);
  write("packages/cli/src/a.ts", 'import { runInteractive } from "./interactive/mode.ts";\n');
  expect(checkLayers(root, {}).join()).toContain("at every start");
});

test.each([
  ["a JSDoc comment", "/** What a reader needs. */"],
  ["a JSDoc comment of several lines", "/**\n * Of those, as many as fit.\n * @param a a number\n */"],
  ["a line comment", "// Nobody waits for it."],
  ["a comment behind code", "const b = 1; // So it stays"],
])("reports %s that opens without its subject", (_, comment) => {
  write("packages/session/src/a.ts", `/** Reads the file. */\n${comment}\n`);
  expect(checkEnglish(root, [])).toEqual([
    expect.stringContaining("packages/session/src/a.ts:2 has a comment without its subject: "),
  ]);
  expect(checkEnglish(root, ["session"])).toEqual([]);
});

test("reads adjacent line comments as one, and no comments in strings", () => {
  const comment = "// Reads the file.\n// So it can be long.\n";
  write("packages/session/src/a.ts", `${comment}const a = "// What is it?";\n`);
  expect(checkEnglish(root, [])).toEqual([]);
});

test("reports a bound that is named MOST or LEAST, but not in comments and texts", () => {
  write("packages/session/src/a.ts", 'const MOST_BYTES = 1; // MOST_X\nconst ALMOST = "AT_LEAST";\n');
  write("packages/session/src/b.ts", "export const LEAST = 1;\n");
  expect(checkEnglish(root, [])).toEqual([
    "packages/session/src/a.ts names MOST_BYTES: write MAX_… or MIN_…",
    "packages/session/src/b.ts names LEAST: write MAX_… or MIN_…",
  ]);
});

test("reports a document that names a missing file", () => {
  write(
    "CONTRIBUTING.md",
    "See `session/src/messages.ts`, `packages/session/src` and `session/src/gone.ts`.\n",
  );
  write("packages/messages/README.md", "Its cases: `messages/test/gone/`.\n");
  expect(checkNamedFiles(root)).toEqual([
    "CONTRIBUTING.md names session/src/gone.ts, which does not exist",
    "packages/messages/README.md names messages/test/gone/, which does not exist",
  ]);
});

test("reports a link to a missing file or heading", () => {
  write("docs/guide.md", "# Guide\n\n## What `/tree` does\n\n```sh\n[no](link.md)\n```\n");
  write("README.md", "[a](docs/guide.md#what-tree-does) [b](https://example.com/x.md) [c](docs/guide.md)\n");
  expect(checkNamedFiles(root)).toEqual([]);
  write("README.md", "[a](docs/guide.md#gone) ![b](docs/gone.svg) [c](#gone)\n");
  expect(checkNamedFiles(root)).toEqual([
    "README.md names docs/guide.md#gone, which does not exist",
    "README.md names docs/gone.svg, which does not exist",
    "README.md names #gone, which does not exist",
  ]);
});
