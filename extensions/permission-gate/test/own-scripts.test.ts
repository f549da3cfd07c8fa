import { mkdirSync, mkdtempSync, realpathSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { OwnScripts } from "../own-scripts.ts";
import { objections } from "../verdict.ts";

let root: string;
/** Later than every file of the project. */
const NOW = Date.now() + 3_600_000;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "bonsai-gate-")));
  const scripts = {
    test: "vitest run",
    lint: "node scripts/lint.mjs && npm run types",
    types: "bash scripts/types.sh",
    flush: "node manage.js",
  };
  put({
    "package.json": JSON.stringify({ scripts }),
    "packages/x/package.json": JSON.stringify({ scripts: { build: "tsc" } }),
    Makefile: "all: build\n\nbuild clean:\n\tbash scripts/types.sh\n\nX := 1\n",
    "scripts/lint.mjs": "",
    "scripts/types.sh": "",
    "manage.js": "",
    "src/a.test.ts": "",
    "node_modules/.bin/rimraf": "",
    ".venv/bin/tool": "",
  });
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
}

/** The reasons to ask; undefined if the line runs. */
function reasons(line: string, edited: readonly string[] = [], since: number = NOW): string | undefined {
  const files = new Set(edited.map((file) => join(root, file)));
  const found = objections(line, {
    scripts: new OwnScripts({ root, since, edited: files }),
    folder: root,
    isAllowed: () => false,
    isAsked: () => false,
  });
  return found.length === 0 ? undefined : found.map(({ reason }) => reason).join("; ");
}

test("runs unchanged scripts and targets of the project without asking", () => {
  const lines = [
    "npm test",
    "npm t",
    "npm run lint",
    "npm run-script lint",
    "npm run -s lint",
    "npm test -- --run src/a.test.ts -t 'a name'",
    "npm test 2>&1 | tail -5",
    "pnpm test",
    "pnpm run lint",
    "pnpm lint",
    "yarn test",
    "bun run lint",
    "bun test",
    "cd packages/x && npm run build",
    "make",
    "make clean",
    "make -j4 build",
    "bash scripts/types.sh",
    "./scripts/types.sh",
    "node scripts/lint.mjs src package.json",
    "node manage.js --list",
  ];
  expect(lines.filter((line) => reasons(line) !== undefined)).toEqual([]);
});

test("asks before other scripts, arguments, programs and folders", () => {
  const lines = [
    "npm run missing",
    "npm run",
    "npm lint",
    "npm publish",
    "pnpm missing",
    "cd packages/x && npm run lint && npm publish",
    "cd packages/x && npm run missing",
    "ls && cd packages/x; npm test",
    "cd packages/x & npm test",
    "cd packages/x || npm test",
    "make missing",
    "make X",
    "make clean X=1",
    "node manage.js flush",
    "npm run flush -- everything",
    "npm test -- --config=/tmp/x",
    "npm test -- -r /tmp/x",
    "./node_modules/.bin/rimraf src",
    "node node_modules/.bin/rimraf src",
    ".venv/bin/tool",
    "node scripts/missing.mjs",
    "node /etc/hosts",
    "bash -x scripts/types.sh",
    "npm test > out.txt",
    "npm test -- /etc/hosts",
    "npm test -- /tmp/x.test.js",
    "npm test -- ../x.test.js",
    "node scripts/lint.mjs /etc/hosts",
    "cat package.json | npm test | sh",
  ];
  expect(lines.filter((line) => reasons(line) === undefined)).toEqual([]);
});

test("asks before a script that was edited", () => {
  const edits = [
    ["npm test", "package.json"],
    ["make", "Makefile"],
    ["./scripts/types.sh", "scripts/types.sh"],
    ["node scripts/lint.mjs", "scripts/lint.mjs"],
  ] as const;
  const answers = edits.map(([line, file]) => [line, reasons(line, [file])?.replace(/ \(.*/, "")]);
  expect(answers).toEqual(edits.map(([line, file]) => [line, `${file} changed in this session`]));
});

test("sees changes by any program, and whatever time the file claims", () => {
  utimesSync(join(root, "scripts/lint.mjs"), 0, 0);
  expect(reasons("node scripts/lint.mjs", [], NOW)).toBeUndefined();
  expect(reasons("node scripts/lint.mjs", [], 0)).toContain("changed in this session");
});

test("asks before git after an edit in .git", () => {
  expect(reasons("git status", [".git/config"])).toContain(".git/config changed in this session");
  expect(reasons("git status", ["src/a.ts"])).toBeUndefined();
});

test("a home folder is no project", () => {
  const scripts = new OwnScripts({ root: homedir(), since: NOW, edited: new Set() });
  const words = ["bash", ".profile"].map((text) => ({ text, isPattern: false }));
  expect(scripts.objection(words, homedir())).toBeDefined();
});
