import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hostModules } from "../src/load/host-modules.ts";
import { importExtension } from "../src/load/import-extension.ts";
import { folderWith, writeIn } from "./files-on-disk.ts";

const names = ["index.ts", "a.ts", "b.mts", "c.js", "d.mjs", "deep/index.ts", "data.json"] as const;
type Name = (typeof names)[number];
/** Every module gives its own value and those of what it imports, by different ways of writing an import. */
const imports: Readonly<Record<Name, string>> = {
  "index.ts": `import a from "./a.js"; import c from "./c"; export default () => [own, a(), c()].join(" ");`,
  "a.ts": `import b from "./b.mjs"; import data from "./data.json"; export default () => [own, b(), data.own].join(" ");`,
  "b.mts": `import deep from "./deep"; export default () => [own, deep()].join(" ");`,
  "c.js": `import d from "./d.mjs"; export default () => [own, d()].join(" ");`,
  "d.mjs": `import { z } from "zod"; export default () => z.string().parse(own);`,
  "deep/index.ts": "export default () => own;",
  "data.json": "",
};
const order: readonly Name[] = ["index.ts", "a.ts", "b.mts", "deep/index.ts", "data.json", "c.js", "d.mjs"];

interface Edit {
  name: Name;
  value: number;
  /** With a decorator, which Node cannot run. */
  isDecorated: boolean;
}

function text({ name, value, isDecorated }: Edit): string {
  const own = `${name}=${value}`;
  if (name === "data.json") return JSON.stringify({ own });
  const isForJiti = isDecorated && /\.m?ts$/.test(name);
  const decorated = `const mark = (c: any) => c; @mark class Own { static own = "${own}" } const own: string = Own.own;`;
  return `${isForJiti ? decorated : `const own = "${own}";`}\n${imports[name]}`;
}

async function reloaded(folder: string): Promise<unknown> {
  const factory = await importExtension({ path: join(folder, "index.ts"), modules: hostModules() });
  return (factory as unknown as () => unknown)();
}

describe("a reload", () => {
  test("Invariant: it shows exactly the latest content, whatever was edited before", async () => {
    const edit: fc.Arbitrary<Edit> = fc.record({
      name: fc.constantFrom(...names),
      value: fc.nat({ max: 99 }),
      isDecorated: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(edit, { maxLength: 3 }), { minLength: 1, maxLength: 3 }),
        async (rounds) => {
          const latest = new Map<Name, Edit>(
            names.map((name) => [name, { name, value: 100, isDecorated: false }]),
          );
          const folder = folderWith(
            Object.fromEntries([...latest].map(([name, each]) => [name, text(each)])),
          );
          for (const edits of rounds) {
            for (const each of edits) {
              latest.set(each.name, each);
              writeIn(folder, each.name, text(each));
            }
            const shown = order.map((name) => `${name}=${latest.get(name)?.value}`).join(" ");
            expect(await reloaded(folder)).toBe(shown);
          }
        },
      ),
    );
  });

  test("makes a new state, and the old one keeps its own, also for later imports", async () => {
    const folder = folderWith({
      "index.ts": `import { state } from "./state.ts"; export default () => async () => {
        const later = await import("./later.ts");
        return [++state.count, later.text, later.state === state];
      };`,
      "state.ts": "export const state = { count: 0 };",
      "later.ts": `export { state } from "./state.ts"; export const text = "old";`,
    });
    const first = (await reloaded(folder)) as () => Promise<unknown>;
    expect(await first()).toEqual([1, "old", true]);
    writeIn(folder, "later.ts", `export { state } from "./state.ts"; export const text = "new";`);
    const second = (await reloaded(folder)) as () => Promise<unknown>;
    expect(await second()).toEqual([1, "new", true]);
    expect(await first()).toEqual([2, "old", true]);
  });

  test("reads CommonJS again, with the host's modules, separately for each extension", async () => {
    const folder = folderWith({
      "index.ts": `import { value } from "./a.cjs"; export default () => value();`,
      "other.cjs": `const { list } = require("./b.cjs"); module.exports = () => list;`,
      "a.cjs": `const { list } = require("./b.cjs"); const { z } = require("zod"); exports.value = () => [z.string().parse("a"), list];`,
      "b.cjs": `const { z } = require("zod"); exports.list = [z.number().parse(1)];`,
    });
    const other = await importExtension({ path: join(folder, "other.cjs"), modules: hostModules() });
    const list = (other as unknown as () => number[])();
    expect(await reloaded(folder)).toEqual(["a", [1]]);
    list.push(2);
    writeIn(folder, "b.cjs", "exports.list = [3];");
    expect(await reloaded(folder)).toEqual(["a", [3]]);
    expect(list).toEqual([1, 2]);
  });

  test("uses the cache on disk only for unchanged files", async () => {
    const folder = folderWith({
      "index.ts": `import { sign } from "./sign.mjs"; import { one } from "./one.ts"; const and = "ünd"; export default () => sign + and + one;`,
      "sign.mjs": `import { z } from "zod"; export const sign = z.string().parse("é");`,
      "one.ts": "export enum E { a = 1 } export const one: number = E.a;",
      "cache/other.txt": "",
    });
    const options = {
      path: join(folder, "index.ts"),
      modules: hostModules(),
      cacheFolder: join(folder, "cache"),
    };
    const value = async () => ((await importExtension(options)) as unknown as () => unknown)();
    expect(await value()).toBe("éünd1");
    expect(await value()).toBe("éünd1");
    writeIn(folder, "one.ts", "export const one: number = 2;");
    writeIn(folder, "sign.mjs", `import "./empty.ts"; export const sign = "è";`);
    writeIn(folder, "empty.ts", "");
    expect(await value()).toBe("èünd2");
    const damage = (change: (text: string) => string) => {
      const names = readdirSync(options.cacheFolder).filter((name) => name.endsWith(".cache"));
      for (const path of names.map((name) => join(options.cacheFolder, name)))
        writeFileSync(path, change(readFileSync(path, "utf8")));
    };
    damage((text) => text.slice(0, -3));
    expect(await value()).toBe("èünd2");
    damage(() => "{");
    expect(await value()).toBe("èünd2");
  });

  test("sees files come and go", async () => {
    const folder = folderWith({ "index.ts": `import "./a.ts"; export default () => 1;` });
    await expect(reloaded(folder)).rejects.toMatchObject({ code: "extension_module_missing" });
    writeIn(folder, "a.ts", "export {};");
    expect(await reloaded(folder)).toBe(1);
    writeIn(folder, "index.ts", `import { b } from "./b"; export default () => b;`);
    writeIn(folder, "b.js", "export const b = 2;");
    expect(await reloaded(folder)).toBe(2);
    writeIn(folder, "b.ts", "export const b: number = 3;");
    expect(await reloaded(folder)).toBe(3);
  });
});

test("works the same in a separate process, without a test runner, and prints nothing", () => {
  const folder = folderWith({
    "index.ts": `import { z, ZodType } from "zod"; import { one } from "./one.js"; enum E { a = 1 }
      export default (z2: unknown) => [z === z2, one, E.a];`,
    "one.ts": "export const one: number = 1;",
    "stripped.ts": `import { z } from "zod"; import { one } from "./one"; export default (z2: unknown) => [z === z2, one];`,
    "main.mjs": `
      import { hostModules } from ${JSON.stringify(import.meta.resolve("../src/load/host-modules.ts"))};
      import { importExtension } from ${JSON.stringify(import.meta.resolve("../src/load/import-extension.ts"))};
      const { z } = await hostModules().zod();
      for (const path of process.argv.slice(2)) {
        const factory = await importExtension({ path, modules: hostModules() });
        console.log(JSON.stringify(factory(z)));
      }`,
  });
  const paths = ["main.mjs", "stripped.ts", "index.ts", "index.ts"].map((name) => join(folder, name));
  const { stdout, stderr } = spawnSync(process.execPath, ["--conditions=@bonsai-agent/source", ...paths], {
    encoding: "utf8",
  });
  expect({ lines: stdout.trim().split("\n"), stderr }).toEqual({
    lines: ["[true,1]", "[true,1,1]", "[true,1,1]"],
    stderr: "",
  });
});
