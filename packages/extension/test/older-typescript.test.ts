import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { folderWith } from "./files-on-disk.ts";
import { started } from "./started-extension.ts";

describe("TypeScript that Node does not strip", () => {
  test("runs, and behaves as in TypeScript", () =>
    everyRow([
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
        `import { z, ZodType as T, ZodError } from "zod"; import { Model, Usage } from "@bonsai-agent/messages";
      export default (t?: T, m?: Model, u?: Usage) => ZodError ? 1 : 0;`,
      ],
      [
        "types that a file passes on like values",
        `import { T, one, Own } from "./passed-on"; export default (t?: T, o?: Own) => one;`,
      ],
      [
        "a default import and types beside it, with comments",
        `import f, { T, one as uno } from "./enum"; import g, * as all from "./enum";
      // T, all
      export default (t?: T) => f() * g();`,
      ],
      ["one in a local file", `import { E } from "./enum"; export default () => E.a;`],
      ["one that is passed on", `export { E, default } from "./enum";`],
      [
        "all of another's exports",
        `export * from "./enum"; export { default } from "./enum"; enum Own { x }`,
      ],
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
      [
        "JSON",
        `import j from "./one.json" with { type: "json" }; import { a } from "./a.ts"; enum E { a } export default () => j.one + a - 1;`,
      ],
      ["a dynamic import", `enum E { a = 1 } export default async () => (await import("./types.ts")).one;`],
    ])(async ([_, text]) => {
      const folder = folderWith({
        "index.ts": text,
        "types.ts": "export type T = string; export const one = 1;",
        "one.cjs": "exports.one = 1;",
        "one.json": `{"one":1}`,
        "a.ts": `import j from "./one.json"; enum E { a } export const a = j.one + E.a;`,
        "passed-on.ts": `export { T, one } from "./types.ts"; export interface Own { a: T }`,
        "enum.ts": "export enum E { a = 1 } export default () => E.a;",
      });
      expect(await started(folder)).toBe(1);
    }));

  test("loads no module for an import of types only", async () => {
    const modules = { unloaded: () => Promise.reject(new Error("loaded")) };
    const folder = folderWith({
      "index.ts": `import { T } from "unloaded"; import { U } from "./types.ts"; export default (t?: T | U) => 1;`,
      "types.ts": `throw new Error("run"); export type U = 1;`,
    });
    expect(await started(folder, "index.ts", modules)).toBe(1);
  });

  test("keeps a file's own names of CommonJS", async () => {
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
      "passed-on.ts": `export { T, one } from "./types.ts"; export interface Own { a: T }`,
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

  test("works in files that are imported later, without running them earlier", async () => {
    const runs: string[] = [];
    Object.assign(globalThis, { bonsaiLateRuns: runs });
    const push = (name: string) => `globalThis.bonsaiLateRuns.push("${name}");`;
    const folder = folderWith({
      "index.ts": `import "./first.ts"; ${push("index")} export default async () => {
        const gone = await import('./gone.ts').catch((error) => error.code);
        const { E } = await import("./late.ts");
        return [E.a, gone];
      };`,
      "first.ts": `${push("first")} export const more = () => import("./later/index.js");`,
      "late.ts": `import { T, one } from "./types.ts"; ${push("late")} export enum E { a = one } export type U = T;`,
      "later/index.ts": `${push("later")} export namespace N { export const x = 1; }`,
      "types.ts": "export type T = 1; export const one = 1;",
    });
    const later = started(folder);
    expect(await later).toEqual([1, "ERR_MODULE_NOT_FOUND"]);
    expect(runs).toEqual(["first", "index", "late"]);
  });
});
