import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkEnglish } from "../structure/english.ts";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "bonsai-english-"));
  write("packages/session/package.json", '{ "name": "@bonsai-agent/session" }');
});
afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, text: string): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const clear = (count: number) => "/** Reads the file. */\nexport const a = 1;\n".repeat(count);

test.each([
  ["a JSDoc comment", "/** What a reader needs. */"],
  ["a JSDoc comment of several lines", "/**\n * Of those, as many as fit.\n * @param a a number\n */"],
  ["a line comment", "// Nobody waits for it."],
  ["a comment behind code", "const b = 1; // so it stays"],
])("reports %s that opens without its subject", (_, comment) => {
  write("packages/session/src/a.ts", `${clear(49)}${comment}\n`);
  expect(checkEnglish(root, []).errors).toEqual([]);
  write("packages/session/src/a.ts", `${clear(48)}${comment}\n`);
  expect(checkEnglish(root, []).errors.join()).toMatch(/^1 of 49 comments in session open with .*a\.ts:97: /);
});

test("reads adjacent line comments as one, and no comments in strings", () => {
  write(
    "packages/session/src/a.ts",
    `// Reads the file.\n// So it can be long.\nconst a = "// What is it?";\n`,
  );
  expect(checkEnglish(root, []).errors).toEqual([]);
});

test("reports a bound that is named MOST or LEAST, but not in comments and texts", () => {
  write("packages/session/src/a.ts", 'const MOST_BYTES = 1; // MOST_X\nconst ALMOST = "AT_LEAST";\n');
  write("packages/session/src/b.ts", "export const LEAST = 1;\n");
  expect(checkEnglish(root, []).errors).toEqual([
    "packages/session/src/a.ts names MOST_BYTES: write MAX_… or MIN_…",
    "packages/session/src/b.ts names LEAST: write MAX_… or MIN_…",
  ]);
});

test("an exempt package may break the rules, and must", () => {
  write("packages/session/src/a.ts", "/** What a reader needs. */\n");
  expect(checkEnglish(root, ["session"]).errors).toEqual([]);
  write("packages/session/src/a.ts", "/** Needed by readers. */\n");
  expect(checkEnglish(root, ["session", "attic"]).errors).toEqual([
    "EXEMPT in english.ts names session, which follows the rules: remove it",
    "EXEMPT in english.ts names attic, which does not exist",
  ]);
});

test("all extensions count as one package", () => {
  write("extensions/a/package.json", '{ "name": "a" }');
  write("extensions/a/index.ts", "/** What a reader needs. */\n");
  write("extensions/b/src/b.ts", clear(49));
  write("extensions/b/test/b.test.ts", "/** What a test needs. */\n");
  expect(checkEnglish(root, []).errors).toEqual([]);
});
