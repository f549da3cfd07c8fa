import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { hostModules } from "../src/host/index.ts";
import { folderWith, writeIn } from "./files-on-disk.ts";
import { started } from "./started-extension.ts";

describe("an extension is read by Node itself", () => {
  test("with types, without a package.json, and its stack names its lines", async () => {
    const folder = folderWith({
      "index.ts": `interface A { b: string }\n\nexport default (): string | undefined => new Error("x").stack;`,
    });
    expect(await started(folder)).toMatch(/file:.*index\.ts\?bonsai=\d+:3:/);
  });

  test("from each kind of JavaScript and TypeScript file", () =>
    everyRow([
      ["a.js", "export default () => 1;"],
      ["a.mjs", "export default () => 1;"],
      ["a.mts", "export default (x?: number) => 1;"],
      ["a.cjs", "module.exports = () => 1;"],
      ["b.js", "exports.default = () => 1;"],
      ["name with space é.ts", "export default () => 1;"],
      ["bom.ts", "\uFEFFexport default () => 1;"],
      ["node_modules/ext/index.ts", "const one: number = 1; export default () => one;"],
      ["top-level-await.ts", "const one = await Promise.resolve(1); export default () => one;"],
    ])(async ([name, text]) => {
      expect(await started(folderWith({ [name]: text }), name)).toBe(1);
    }));

  test("with each spelling of a local import", () =>
    everyRow([
      ["./one.ts"],
      ["./one.js"],
      ["./one"],
      ["./folder"],
      ["./folder/"],
      ["./folder/index.js"],
      ["./one.ts?raw=1"],
    ])(async ([specifier]) => {
      const folder = folderWith({
        "index.ts": `import { one } from "${specifier}"; export default () => one;`,
        "one.ts": "export const one: number = 1;",
        "folder/index.ts": "export const one: number = 1;",
      });
      expect(await started(folder)).toBe(1);
    }));

  test("with JSON, with or without an import attribute", async () => {
    const folder = folderWith({
      "index.ts": `import a from "./x.json" with { type: "json" }; import b from "./x.json"; export default () => [a, b];`,
      "x.json": `{"x":1}`,
    });
    expect(await started(folder)).toEqual([{ x: 1 }, { x: 1 }]);
  });

  test("with its installed packages, but the host's modules come first", async () => {
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

  test("can export reserved words, and no default", async () => {
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

  test("are not all loaded for an extension that imports a file of its own later", async () => {
    const loaded: string[] = [];
    const counted = (name: string) => async () => {
      loaded.push(name);
      return { name };
    };
    const modules = Object.fromEntries(["one", "two", "three"].map((name) => [name, counted(name)]));
    const folder = folderWith({
      "index.ts": `import { name } from "one"; export default async () => [name, (await import("./later.ts")).name];`,
      "later.ts": `export { name } from "two";`,
    });
    expect(await started(folder, "index.ts", modules)).toEqual(["one", "two"]);
    expect(loaded.sort()).toEqual(["one", "two"]);
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
      "index.ts": `const name = "zod"; export default async () => (await import(name)).z;`,
    });
    expect(await started(folder)).toBe(z);
  });

  test("that cannot be loaded break the extension by name", async () => {
    const modules = { sick: () => Promise.reject(new Error("no disk")) };
    const folder = folderWith({ "index.ts": `import "sick"; export default () => {};` });
    await expect(started(folder, "index.ts", modules)).rejects.toMatchObject({
      code: "extension_broken",
      message: expect.stringMatching(/index\.ts: cannot load sick, .*no disk/),
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

test("the loader ignores imports outside of extensions", async () => {
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

test("a corrected file is read again after a failure", async () => {
  const folder = folderWith({ "index.ts": "const x = ;" });
  await expect(started(folder)).rejects.toMatchObject({ code: "extension_broken" });
  writeIn(folder, "index.ts", "export default () => 1;");
  expect(await started(folder)).toBe(1);
});
