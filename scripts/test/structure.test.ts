import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkChangesets } from "../structure/changesets.ts";
import { checkDist, staleOutputs } from "../structure/dist.ts";
import { structureFigures } from "../structure/figures.ts";
import { checkLayers } from "../structure/layers.ts";
import { checkNamedFiles } from "../structure/named-files.ts";
import { checkPublicTypes } from "../structure/public-types.ts";
import { checkSizes } from "../structure/sizes.ts";
import { readPackages } from "../structure/workspace.ts";

let root: string;
/** Allowed imports of the workspace that each test builds. */
const arrows: Record<string, string[]> = { messages: [], session: ["messages"] };

const noOrder = { folders: {}, upward: {} };

function layerErrors(
  allowed: Record<string, string[]> = arrows,
  order: Parameters<typeof checkLayers>[2] = noOrder,
) {
  return checkLayers(root, allowed, order).errors;
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "bonsai-structure-"));
  folder("messages", {});
  folder("session", { "@bonsai-agent/messages": "workspace:*" });
  write("packages/session/src/messages.ts", 'export type { Message } from "@bonsai-agent/messages";\n');
});
afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, text: string): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function folder(name: string, dependencies: Record<string, string>): void {
  write(`packages/${name}/package.json`, JSON.stringify({ name: `@bonsai-agent/${name}`, dependencies }));
  write(`packages/${name}/src/index.ts`, "export {};\n");
  write(`packages/${name}/dist/index.d.ts`, "export {};\n");
}

test("a correct workspace has no errors in layers and types", () => {
  write("packages/session/src/a.ts", 'import { chars4 } from "@bonsai-agent/messages";\n');
  expect(layerErrors()).toEqual([]);
  expect(checkPublicTypes(root).errors).toEqual([]);
});

test.each([
  ["upwards", "messages", 'import { project } from "@bonsai-agent/session";', "messages must not import"],
  [
    "past the public exports",
    "session",
    'export { x } from "@bonsai-agent/messages/src/x.ts";',
    "not a public export",
  ],
  [
    "from outside the package",
    "session",
    'import "../../messages/src/index.ts";',
    "from outside its package",
  ],
  ["dynamically upwards", "messages", 'await import("@bonsai-agent/session");', "messages must not import"],
  [
    "upwards in a list",
    "messages",
    'await f([import("@bonsai-agent/session")]);',
    "messages must not import",
  ],
])("reports an import %s", (_, name, source, error) => {
  write(`packages/${name}/src/a.ts`, `${source}\n`);
  expect(layerErrors().join()).toContain(error);
});

test("reports an import of an undeclared package", () => {
  folder("session", {});
  write("packages/session/src/a.ts", 'import { chars4 } from "@bonsai-agent/messages";\n');
  expect(layerErrors().join()).toContain("does not declare @bonsai-agent/messages");
});

test("reports a package without a row in ARROWS", () => {
  folder("attic", {});
  expect(layerErrors()).toEqual(["packages/attic has no row in ARROWS in layers.ts"]);
});

test("reports a row without a package, and an allowed import that is never used", () => {
  const wider = { messages: ["session"], session: ["messages"], attic: [] };
  expect(layerErrors(wider)).toEqual([
    "ARROWS in layers.ts has a row for packages/attic, which does not exist",
    "messages never imports session: remove it from ARROWS in layers.ts",
  ]);
});

test("ARROWS matches the imports of this repository", () => {
  const repository = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
  expect(checkLayers(repository).errors).toEqual([]);
});

test("reports a static import of a folder that must be loaded with import()", () => {
  folder("cli", {});
  write("packages/cli/src/interactive/mode.ts", 'import "./screen.ts";\n');
  const withCommand = { ...arrows, cli: [] };
  write("packages/cli/src/a.ts", 'const mode = await import("./interactive/mode.ts");\n');
  expect(layerErrors(withCommand)).toEqual([]);
  write("packages/cli/src/a.ts", 'import { runInteractive } from "./interactive/mode.ts";\n');
  expect(layerErrors(withCommand).join()).toContain("at every start");
});

describe("the order of folders", () => {
  const folders = { session: ["index.ts", "messages.ts", "store", "search"] };
  const upward = (...rows: string[]) => layerErrors(arrows, { folders, upward: { session: rows } });

  beforeEach(() => {
    write("packages/session/src/search/scan.ts", 'import { read } from "../store/read.ts";\n');
    write("packages/session/src/store/read.ts", 'import "./line.ts";\n');
  });

  test("reports an import of a folder above, and a folder without a place", () => {
    expect(upward()).toEqual([]);
    write("packages/session/src/store/read.ts", 'import { scan } from "../search/scan.ts";\n');
    write("packages/session/src/attic/old.ts", "export {};\n");
    expect(upward()).toEqual([
      "packages/session/src/attic/old.ts has no place in FOLDERS in layers.ts",
      "packages/session/src/store/read.ts imports search, which is above it",
    ]);
  });

  test("reports imports between siblings, and inside a folder with an order of its own", () => {
    const siblings = {
      session: ["index.ts", "messages.ts", ["store", "search"]],
      "session/store": ["line.ts", "read.ts"],
    };
    const errors = () => layerErrors(arrows, { folders: siblings, upward: {} });
    write("packages/session/src/store/line.ts", 'import "./read.ts";\n');
    expect(errors()).toEqual([
      "packages/session/src/search/scan.ts imports store, which is beside it",
      "packages/session/src/store/line.ts imports read.ts, which is above it",
    ]);
  });

  test("reports a listed folder that does not exist", () => {
    rmSync(join(root, "packages/session/src/search"), { recursive: true });
    expect(upward()).toEqual(['session has no src/search: remove "search" from FOLDERS in layers.ts']);
  });

  test("accepts listed imports of a folder above, and reports a row that is not needed", () => {
    write("packages/session/src/store/read.ts", 'import { scan } from "../search/scan.ts";\n');
    expect(upward("store > search")).toEqual([]);
    expect(upward("store/read.ts > search")).toEqual([]);
    expect(upward("store > search", "search > store")).toEqual([
      "session has no import search > store: remove it from UPWARD in layers.ts",
    ]);
  });
});

test("reports any in a declaration, but not in a comment or a string", () => {
  write("packages/session/dist/a.d.ts", '/** any */\nexport type A = "any"; // any\n');
  expect(checkPublicTypes(root).errors).toEqual([]);
  write("packages/session/dist/a.d.ts", "export declare function a(x: any): void;\n");
  expect(checkPublicTypes(root).errors.join()).toContain("dist/a.d.ts:1 uses any");
});

test("reports export * in an index", () => {
  write("packages/session/src/index.ts", 'export * from "./a.ts";\n');
  expect(checkPublicTypes(root).errors.join()).toContain("uses export *");
});

test("warns about a file above 300 lines and a long function", () => {
  const biome = fileURLToPath(new URL("../../node_modules", import.meta.url));
  symlinkSync(biome, join(root, "node_modules"));
  write("packages/session/src/long.ts", `export function long() {\n${"  void 0;\n".repeat(400)}}\n`);
  const { errors, warnings } = checkSizes(root);
  expect(errors).toEqual([]);
  expect(warnings[0]).toBe("packages/session/src/long.ts has 402 lines");
  expect(warnings[1]).toContain("packages/session/src/long.ts:1: This function has too many lines (400)");
});

test("the table of figures has bench lines and public names for each package", () => {
  const exports = {
    ".": { "@bonsai-agent/source": "./src/index.ts" },
    "./host": { "@bonsai-agent/source": "./src/host.ts" },
  };
  write("packages/session/package.json", JSON.stringify({ name: "@bonsai-agent/session", exports }));
  write("packages/session/src/index.ts", 'export { a, type B as C } from "./a.ts";\nexport interface D {}\n');
  write("packages/session/src/host.ts", "export const e = 1;\n");
  write("packages/session/bench/open.bench.ts", "export {};\nexport {};\n");
  const row = structureFigures(root)
    .split("\n")
    .find((line) => line.startsWith("session"))!;
  expect(row.split(/ {2,}/)).toEqual(["session", "3", "4", "2", "1", "2", "2", "67%", "3", "1", "0"]);
});

test("reports a changed package without a changeset", () => {
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], { cwd: root });
  git("init", "-q");
  git("add", ".");
  git("commit", "-qm", "start");
  expect(checkChangesets(root).errors).toHaveLength(2);
  write(".changeset/one.md", '---\n"@bonsai-agent/messages": minor\n---\n\nWords.\n');
  expect(checkChangesets(root).errors.join()).toContain("@bonsai-agent/session changed");
  write("packages/session/CHANGELOG.md", "# 0.1.0\n");
  git("add", ".");
  git("commit", "-qm", "release");
  expect(checkChangesets(root).errors).toEqual([]);
  write("packages/session/src/index.ts", "export const changed = 1;\n");
  expect(checkChangesets(root).errors.join()).toContain("@bonsai-agent/session changed");
});

test("reports a changeset that names an unknown or a private package", () => {
  execFileSync("git", ["init", "-q"], { cwd: root });
  execFileSync(
    "git",
    ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "start", "--allow-empty"],
    {
      cwd: root,
    },
  );
  write(".changeset/one.md", '---\n"@bonsai-agent/gone": minor\n---\n\nWords.\n');
  expect(checkChangesets(root).errors).toContain(
    ".changeset/one.md names @bonsai-agent/gone, which is not a published package.",
  );
});

test("reports files in dist without a source, except in private packages", () => {
  write("packages/session/dist/index.js", "");
  write("packages/session/dist/index.d.ts.map", "");
  write("packages/session/dist/.tsbuildinfo", "");
  write("packages/session/src/inner/store.ts", "");
  write("packages/session/dist/inner/store.js", "");
  expect(checkDist(root).errors).toEqual([]);
  write("packages/session/dist/store.js", "");
  write("packages/session/dist/store.d.ts", "");
  expect(checkDist(root).errors).toEqual([
    "packages/session/dist/store.d.ts and 1 more have no source. Run: pnpm build",
  ]);
  write("packages/session/package.json", JSON.stringify({ name: "session", private: true }));
  expect(checkDist(root).errors).toEqual([]);
});

test("finds files that a bundle never loads", () => {
  write(
    "packages/session/dist/main.mjs",
    'import { a } from "./a-1.mjs";\nawait f([import("./b-1.mjs")]);\n',
  );
  write("packages/session/dist/a-1.mjs", 'export { c } from "./c-1.mjs";\n');
  write("packages/session/dist/b-1.mjs", 'import "./main.mjs";\n');
  write("packages/session/dist/c-1.mjs", 'import "node:fs";\n');
  expect(checkDist(root).errors).toEqual([]);
  write("packages/session/dist/a-0.mjs", 'import "./main.mjs";\n');
  const bundle = readPackages(root).find(({ directory }) => directory === "session")!;
  expect(staleOutputs(bundle)).toEqual([join(root, "packages/session/dist/a-0.mjs")]);
});

test("reports a document that names a missing file", () => {
  write("CONTRIBUTING.md", "See `session/src/index.ts`, `packages/session/src` and `session/src/gone.ts`.\n");
  write("packages/messages/README.md", "Its cases: `messages/test/gone/`.\n");
  expect(checkNamedFiles(root).errors).toEqual([
    "CONTRIBUTING.md names session/src/gone.ts, which does not exist",
    "packages/messages/README.md names messages/test/gone/, which does not exist",
  ]);
});

test("reports a link to a missing file or heading", () => {
  write("docs/guide.md", "# Guide\n\n## What `/tree` does\n\n```sh\n[no](link.md)\n```\n");
  write("README.md", "[a](docs/guide.md#what-tree-does) [b](https://example.com/x.md) [c](docs/guide.md)\n");
  expect(checkNamedFiles(root).errors).toEqual([]);
  write("README.md", "[a](docs/guide.md#gone) ![b](docs/gone.svg) [c](#gone)\n");
  expect(checkNamedFiles(root).errors).toEqual([
    "README.md names docs/guide.md#gone, which does not exist",
    "README.md names docs/gone.svg, which does not exist",
    "README.md names #gone, which does not exist",
  ]);
});
