import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { hostModules, importExtension, type VirtualModules } from "../src/index.ts";
import { folderWith, writeIn } from "./files-on-disk.ts";

/** What the factory returns, which tells what it sees. */
async function started(
  folder: string,
  entry = "index.ts",
  modules: VirtualModules = hostModules(),
): Promise<unknown> {
  const factory = await importExtension({ path: join(folder, entry), modules });
  return (factory as unknown as () => unknown)();
}

describe("an extension is read by Node itself", () => {
  test("with types, without a package.json, and its stack names its lines", async () => {
    const folder = folderWith({
      "index.ts": `interface A { b: string }\n\nexport default (): string | undefined => new Error("x").stack;`,
    });
    expect(await started(folder)).toMatch(/file:.*index\.ts\?bonsai=\d+:3:/);
  });

  test.each([
    ["a.js", "export default () => 1;"],
    ["a.mjs", "export default () => 1;"],
    ["a.mts", "export default (x?: number) => 1;"],
    ["a.cjs", "module.exports = () => 1;"],
    ["b.js", "exports.default = () => 1;"],
    ["name with space é.ts", "export default () => 1;"],
    ["bom.ts", "\uFEFFexport default () => 1;"],
    ["node_modules/ext/index.ts", "const one: number = 1; export default () => one;"],
    ["top-level-await.ts", "const one = await Promise.resolve(1); export default () => one;"],
  ])("from %s", async (name, text) => {
    expect(await started(folderWith({ [name]: text }), name)).toBe(1);
  });

  test.each([
    ["./one.ts"],
    ["./one.js"],
    ["./one"],
    ["./folder"],
    ["./folder/"],
    ["./folder/index.js"],
    ["./one.ts?raw=1"],
  ])("with a local import of %s", async (specifier) => {
    const folder = folderWith({
      "index.ts": `import { one } from "${specifier}"; export default () => one;`,
      "one.ts": "export const one: number = 1;",
      "folder/index.ts": "export const one: number = 1;",
    });
    expect(await started(folder)).toBe(1);
  });

  test("with JSON, said to be such or not", async () => {
    const folder = folderWith({
      "index.ts": `import a from "./x.json" with { type: "json" }; import b from "./x.json"; export default () => [a, b];`,
      "x.json": `{"x":1}`,
    });
    expect(await started(folder)).toEqual([{ x: 1 }, { x: 1 }]);
  });

  test("with what it installed, but the host's own modules come first", async () => {
    const folder = folderWith({
      "index.ts": `import { own } from "own"; import { z } from "zod"; export default () => [own, z];`,
      "node_modules/own/package.json": `{"name":"own","type":"module","exports":"./own.js"}`,
      "node_modules/own/own.js": `import { z } from "zod"; export const own = z;`,
      "node_modules/zod/package.json": `{"name":"zod","type":"module","exports":"./z.js"}`,
      "node_modules/zod/z.js": `export const z = "its own";`,
    });
    expect(await started(folder)).toEqual(["its own", z]);
  });

  test("with libraries for extensions, which get the host's modules", async () => {
    const folder = folderWith({
      "index.ts": `import { own } from "own"; export default () => own;`,
      "node_modules/own/package.json": `{"name":"own","type":"module","exports":"./own.js","peerDependencies":{"zod":"*"}}`,
      "node_modules/own/own.js": `import { z } from "zod"; import { other } from "./other.js"; export const own = [z, other];`,
      "node_modules/own/other.js": "export const other = 2;",
    });
    expect(await started(folder)).toEqual([z, 2]);
  });
});

describe("the host's modules", () => {
  test("are the same instances, each one of them", async () => {
    const names = Object.keys(hostModules());
    const folder = folderWith({
      "index.ts": `${names.map((name, at) => `import * as m${at} from "${name}";`).join("\n")}
        export default () => [${names.map((_, at) => `m${at}`).join(", ")}];`,
    });
    const given = (await started(folder)) as Record<string, unknown>[];
    for (const [at, name] of names.entries()) {
      expect({ ...given[at] }, name).toEqual({ ...(await hostModules()[name]?.()) });
    }
  });

  test("may export reserved words, and nothing by default", async () => {
    const modules = { words: async () => ({ catch: 1, "any-name": 2 }) };
    const folder = folderWith({
      "index.ts": `import { catch as c, "any-name" as n } from "words"; export default () => [c, n];`,
      "other.ts": `import words from "words"; export default () => words;`,
    });
    expect(await started(folder, "index.ts", modules)).toEqual([1, 2]);
    await expect(started(folder, "other.ts", modules)).rejects.toMatchObject({
      code: "extension_export_missing",
    });
  });

  test("are loaded when an extension imports them, and not before", async () => {
    const loaded: string[] = [];
    const counted = (name: string) => async () => {
      loaded.push(name);
      return { name };
    };
    const modules = Object.fromEntries(["one", "two", "three", "four"].map((name) => [name, counted(name)]));
    const folder = folderWith({
      "index.ts": `import { name } from "one"; import { later } from "./local.ts"; export default () => later().then((two) => [name, two]);`,
      "local.ts": `import "./deep.js"; export const later = async () => (await import("two")).name;`,
      "deep.ts": `export * from 'three';`,
    });
    expect(await started(folder, "index.ts", modules)).toEqual(["one", "two"]);
    expect(await started(folder, "index.ts", modules)).toEqual(["one", "two"]);
    expect(loaded.sort()).toEqual(["one", "three", "two"]);
  });

  test("run nothing of an extension twice while they are loaded", async () => {
    const runs: string[] = [];
    Object.assign(globalThis, { bonsaiTestRuns: runs });
    const modules = { late: async () => ({ value: 1 }) };
    const folder = folderWith({
      "index.ts": `import "./first.ts"; import "./second.ts"; globalThis.bonsaiTestRuns.push("index"); export default () => {};`,
      "first.ts": `globalThis.bonsaiTestRuns.push("first");`,
      "second.ts": `import "late"; globalThis.bonsaiTestRuns.push("second");`,
    });
    await started(folder, "index.ts", modules);
    expect(runs).toEqual(["first", "second", "index"]);
  });

  test("are found by an import whose name is only known at run time", async () => {
    const folder = folderWith({
      "index.ts": `export default async () => (await import(["zo", "d"].join(""))).z;`,
    });
    expect(await started(folder)).toBe(z);
  });

  test("that cannot be loaded break the extension by name", async () => {
    const modules = { sick: () => Promise.reject(new Error("no disk")) };
    const folder = folderWith({ "index.ts": `import "sick"; export default () => {};` });
    await expect(started(folder, "index.ts", modules)).rejects.toMatchObject({
      code: "extension_broken",
      message: expect.stringMatching(/index\.ts: sick, .*no disk/),
    });
  });
});

describe("TypeScript that Node does not strip", () => {
  test.each([
    ["an enum", "enum E { a = 1 } export default () => E.a;"],
    [
      "a parameter property",
      "class A { constructor(readonly x: number) {} } export default () => new A(1).x;",
    ],
    ["a namespace", "namespace N { export const x = 1; } export default () => N.x;"],
    [
      "a decorator",
      "function d(c: any) { c.x = 1; }\n@d class A { static x: number } export default () => A.x;",
    ],
    [
      "a type that is imported like a value",
      `import { T, one } from "./types.ts"; export default (t?: T) => one;`,
    ],
    [
      "a type of the host that is",
      `import { z, ZodType as T, ZodError } from "zod"; import { Model, BonsaiErrorOptions } from "@bonsai-agent/messages";
      export default (t?: T, m?: Model, o?: BonsaiErrorOptions) => ZodError ? 1 : 0;`,
    ],
    ["one in a local file", `import { E } from "./enum"; export default () => E.a;`],
    ["one that is passed on", `export { E, default } from "./enum";`],
    ["all of another's exports", `export * from "./enum"; export { default } from "./enum"; enum Own { x }`],
    ["a top-level await", "enum E { a = 1 } const e = await Promise.resolve(E.a); export default () => e;"],
    [
      "a class that is exported by name",
      "export class A { constructor(readonly x: number) {} } export default () => new A(1).x;",
    ],
    [
      "its own require",
      `import { createRequire } from "node:module"; enum E { a = 1 } export default () => createRequire(import.meta.url)("node:fs") && E.a;`,
    ],
    [
      "what only CommonJS has",
      `const { one } = require("./one.cjs"); export default () => (__dirname && __filename ? one : 0);`,
    ],
    ["a CommonJS export", `import { one } from "./types.ts"; module.exports = () => one;`],
    [
      "names of CommonJS that it declares",
      `import { createRequire } from "node:module"; enum E { a = 1 }
      const require = createRequire(import.meta.url); const __dirname = "", exports = {}; export default () => require("node:fs") && E.a;`,
    ],
    ["a dynamic import", `enum E { a = 1 } export default async () => (await import("./types.ts")).one;`],
  ])("%s", async (_, text) => {
    const folder = folderWith({
      "index.ts": text,
      "types.ts": "export type T = string; export const one = 1;",
      "one.cjs": "exports.one = 1;",
      "enum.ts": "export enum E { a = 1 } export default () => E.a;",
    });
    expect(await started(folder)).toBe(1);
  });

  test("is no TypeScript that makes for itself what CommonJS has", async () => {
    const folder = folderWith({
      "index.ts": `import { createRequire } from "node:module"; import { dirname } from "node:path"; import { fileURLToPath } from "node:url";
        const require = createRequire(import.meta.url); const __dirname = dirname(fileURLToPath(import.meta.url));
        export default () => [typeof require("node:fs"), __dirname, import.meta.url];`,
    });
    expect(await started(folder)).toEqual(["object", folder, expect.stringContaining("?bonsai=")]);
  });

  test("keeps bindings live, and the host's instances", async () => {
    const folder = folderWith({
      "index.ts": `import { count, more, z } from "./enum.ts"; export default () => { more(); return [count, z]; };`,
      "enum.ts": `export { z } from "zod"; export enum E { a } export let count = 1; export function more() { count++; }`,
    });
    expect(await started(folder)).toEqual([2, z]);
  });

  test("keeps its lines", async () => {
    const folder = folderWith({
      "index.ts": `import { z } from "zod";\nenum E {\n  a,\n}\n\nexport default () => new Error(String(E.a)).stack;`,
    });
    expect(await started(folder)).toMatch(/index\.ts\?bonsai=\d+:6:/);
  });
});

describe("what is wrong is told with its place", () => {
  const cases: [string, string, Record<string, string>, string, RegExp][] = [
    [
      "syntax",
      "index.ts",
      { "index.ts": "export default 1;\nconst x = ;" },
      "extension_broken",
      /index\.ts:2:11: Expression expected\n {2}1 \| .*\n {2}2 \| const x = ;\n {4}\| {11}\^$/,
    ],
    [
      "syntax of JavaScript",
      "index.js",
      { "index.js": "export default 1;\nconst x = ;" },
      "extension_broken",
      /index\.js:2:1\d: Unexpected token/,
    ],
    [
      "syntax in a local file",
      "index.ts",
      { "index.ts": `import "./a.ts"; export default () => {};`, "a.ts": "\n\n}" },
      "extension_broken",
      /a\.ts:3:1: /,
    ],
    [
      "syntax after an enum",
      "index.ts",
      { "index.ts": "enum A { b }\nconst x = ;" },
      "extension_broken",
      /index\.ts:2:1\d: /,
    ],
    [
      "a throw",
      "index.ts",
      { "index.ts": `\nthrow new TypeError("boo");` },
      "extension_broken",
      /index\.ts:2:7: boo\n/,
    ],
    [
      "a throw in a local file",
      "index.ts",
      {
        "index.ts": `import "./a.ts"; export default () => {};`,
        "a.ts": `const f = () => {\n  throw new Error("deep");\n};\nf();`,
      },
      "extension_broken",
      /a\.ts:2:9: deep\n/,
    ],
    [
      "a throw after an enum",
      "index.ts",
      { "index.ts": `enum A { b }\nthrow new Error("boo");` },
      "extension_broken",
      /index\.ts:2:\d+: boo\n/,
    ],
    [
      "a thrown string",
      "index.ts",
      { "index.ts": `throw "just so";` },
      "extension_broken",
      /index\.ts: just so$/,
    ],
    [
      "a SyntaxError that it throws",
      "index.ts",
      { "index.ts": `JSON.parse("{"); export default 1;` },
      "extension_broken",
      /index\.ts:1:6: .*JSON/,
    ],
    [
      "a package that is not installed",
      "index.ts",
      { "index.ts": `\nimport x from "@some/thing/sub"; export default () => x;` },
      "extension_module_missing",
      /index\.ts:2:15: @some\/thing\/sub cannot be found/,
    ],
    [
      "a file that is not there",
      "index.ts",
      { "index.ts": `import "./gone.js"; export default () => 1;` },
      "extension_module_missing",
      /index\.ts:1:8: \.\/gone\.js cannot be found/,
    ],
    [
      "a module of the host that it does not give",
      "index.ts",
      { "index.ts": `import "zod/v9"; export default () => 1;` },
      "extension_module_missing",
      /zod\/v9 cannot be found/,
    ],
    [
      "a missing export of the host",
      "index.ts",
      { "index.ts": `import {\n  z,\n  toJsonSchema,\n} from "zod"; export default () => toJsonSchema(z);` },
      "extension_export_missing",
      /index\.ts:3:3: zod has no export named toJsonSchema/,
    ],
    [
      "a missing export beside an enum",
      "index.ts",
      { "index.ts": `enum A { b }\nimport { nothing } from "zod"; export default () => nothing(A);` },
      "extension_export_missing",
      /index\.ts:2:10: zod has no export named nothing/,
    ],
    [
      "a missing export of JavaScript",
      "index.js",
      { "index.js": `import { nothing } from "zod"; export default () => nothing();` },
      "extension_export_missing",
      /zod has no export named nothing/,
    ],
    [
      "a missing export of a local file",
      "index.ts",
      {
        "index.ts": `import { T, f } from "./a.ts"; export default (t?: T) => f();`,
        "a.ts": "export type T = 1;",
      },
      "extension_export_missing",
      /index\.ts:1:13: \.\/a\.ts has no export named f/,
    ],
    [
      "a missing export of a package",
      "index.ts",
      {
        "index.ts": `import { f } from "own"; export default () => f();`,
        "node_modules/own/package.json": `{"name":"own","exports":"./own.cjs"}`,
        "node_modules/own/own.cjs": "exports.g = 1;",
      },
      "extension_export_missing",
      /own has no export named f/,
    ],
    [
      "no default export",
      "index.ts",
      { "index.ts": "export const a = 1; export class B {}" },
      "extension_without_factory",
      /exports B \(function\), a \(number\)\.$/,
    ],
    [
      "no export",
      "index.ts",
      { "index.ts": "const a = 1;" },
      "extension_without_factory",
      /exports nothing\.$/,
    ],
    [
      "a default export that is no function",
      "index.ts",
      { "index.ts": "export default null;" },
      "extension_without_factory",
      /exports default \(null\)\.$/,
    ],
    ["no file", "index.ts", {}, "extension_not_found", /index\.ts cannot be read: there is no such file/],
    ["a folder", "index.ts", { "index.ts/a.ts": "" }, "extension_not_found", /that is no file/],
    ["a file of another kind", "notes.md", { "notes.md": "hello" }, "extension_broken", /notes\.md: .*/],
  ];
  test.each(cases)("%s", async (_, entry, files, code, message) => {
    const folder = folderWith(files);
    const error: unknown = await started(folder, entry).then(
      () => undefined,
      (failure: unknown) => failure,
    );
    expect(BonsaiError.is(error)).toBe(true);
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
    expect((error as BonsaiError).message).toContain(folder);
    expect((error as BonsaiError).hint).not.toBe("");
    expect(String(((error as BonsaiError).cause as Error | undefined)?.stack)).not.toContain("bonsai=");
  });

  test("a module that does not end its loading", async () => {
    const folder = folderWith({ "index.ts": "await new Promise(() => {}); export default () => {};" });
    const path = join(folder, "index.ts");
    await expect(importExtension({ path, modules: {}, timeoutMs: 20 })).rejects.toMatchObject({
      code: "extension_hung",
      message: expect.stringContaining(path),
    });
  });

  test("how to install what is missing, and where", async () => {
    const folder = folderWith({
      "package.json": "{}",
      "src/index.ts": `import "@some/thing/sub"; export default () => {};`,
    });
    await expect(started(folder, "src/index.ts")).rejects.toMatchObject({
      hint: `Run \`npm install @some/thing\` in ${folder}.`,
    });
  });
});

test("two extensions that import the same file have an instance each", async () => {
  const folder = folderWith({
    "a.ts": `import { list } from "./shared.ts"; import "./more.ts"; export default () => list;`,
    "b.ts": `import { list } from "./shared.ts"; export default () => list;`,
    "more.ts": `import { list } from "./shared.ts"; list.push("more");`,
    "shared.ts": "export const list: string[] = [];",
  });
  const [a, b] = [await started(folder, "a.ts"), await started(folder, "b.ts")];
  expect(a).toEqual(["more"]);
  expect(b).toEqual([]);
});

test("what no extension imports is none of the loader's business", async () => {
  const folder = folderWith({
    "index.ts": "export default () => {};",
    "own.mjs": "export const url = import.meta.url;",
  });
  await started(folder);
  const { nativeImport } = await import("../src/load/native-import.ts");
  const url = new URL(`file://${join(folder, "own.mjs")}`).href;
  expect((await nativeImport(url)).url).toBe(url);
  writeFileSync(join(folder, "zod.mjs"), `import "zod"; export {};`);
  await expect(nativeImport(new URL(`file://${join(folder, "zod.mjs")}`).href)).rejects.toMatchObject({
    code: "ERR_MODULE_NOT_FOUND",
  });
});

test("a file that is mended is read again after a failure", async () => {
  const folder = folderWith({ "index.ts": "const x = ;" });
  await expect(started(folder)).rejects.toMatchObject({ code: "extension_broken" });
  writeIn(folder, "index.ts", "export default () => 1;");
  expect(await started(folder)).toBe(1);
});
