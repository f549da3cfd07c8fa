import { join } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { importExtension } from "../src/load/import-extension.ts";
import { folderWith } from "./files-on-disk.ts";
import { started } from "./started-extension.ts";

describe("failures name their place", () => {
  const cases: [string, string, Record<string, string>, string, RegExp][] = [
    [
      "syntax",
      "index.ts",
      { "index.ts": "export default 1;\nconst x = ;" },
      "extension_broken",
      /index\.ts:2:11: Unexpected token\n {2}1 \| .*\n {2}2 \| const x = ;\n {4}\| {11}\^$/,
    ],
    [
      "syntax of JavaScript",
      "index.js",
      { "index.js": "export default 1;\nconst x = ;" },
      "extension_broken",
      /index\.js:2:11: Unexpected token/,
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
      "a throw after a parameter property",
      "index.ts",
      {
        "index.ts": `interface A {\n  b: 1;\n}\n\nclass B {\n  constructor(readonly a: A) {}\n}\n\n  throw new Error("boo " + B.name);`,
      },
      "extension_broken",
      /index\.ts:9:9: boo B\n/,
    ],
    [
      "a throw after a decorator",
      "index.ts",
      { "index.ts": `const d = (c: any) => c;\n@d class A {}\nthrow new Error("boo");` },
      "extension_broken",
      /index\.ts:3:\d+: boo\n/,
    ],
    [
      "a file that is not there, beside a decorator",
      "index.ts",
      { "index.ts": `import "./gone.js";\nconst d = (c: any) => c;\n@d class A {}` },
      "extension_module_missing",
      /index\.ts:1:8: cannot find \.\/gone\.js/,
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
      /index\.ts:2:15: cannot find @some\/thing\/sub/,
    ],
    [
      "a file that is not there",
      "index.ts",
      { "index.ts": `import "./gone.js"; export default () => 1;` },
      "extension_module_missing",
      /index\.ts:1:8: cannot find \.\/gone\.js/,
    ],
    [
      "a module of the host that it does not give",
      "index.ts",
      { "index.ts": `import "zod/v9"; export default () => 1;` },
      "extension_module_missing",
      /cannot find zod\/v9/,
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
      "a package.json beside it that is no JSON",
      "index.js",
      { "index.js": "export default () => {};", "package.json": `{ "type": "module", }` },
      "extension_module_missing",
      /cannot import .*index\.js: Invalid package config .*package\.json/,
    ],
    [
      "a package.json of a dependency that is no JSON",
      "index.ts",
      { "index.ts": `import "own"; export default () => {};`, "node_modules/own/package.json": "{" },
      "extension_module_missing",
      /index\.ts:1:8: cannot import own: Invalid package config .*own\/package\.json/,
    ],
    [
      "a path that a package does not export",
      "index.ts",
      {
        "index.ts": `import "own/b"; export default () => {};`,
        "node_modules/own/package.json": `{"name":"own","exports":{"./a":"./a.js"}}`,
      },
      "extension_module_missing",
      /cannot import .*own\/b: Package subpath '\.\/b' is not defined/,
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
    [
      "no file",
      "index.ts",
      {},
      "extension_not_found",
      /Cannot read the extension .*index\.ts: the file does not exist/,
    ],
    ["a folder", "index.ts", { "index.ts/a.ts": "" }, "extension_not_found", /it is not a file/],
    ["a file of another kind", "notes.md", { "notes.md": "hello" }, "extension_broken", /notes\.md: .*/],
  ];
  test("each failure has its code, its place and a hint", () =>
    everyRow(cases)(async ([_, entry, files, code, message]) => {
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
    }));

  test("a module that never finishes loading times out", async () => {
    const folder = folderWith({ "index.ts": "await new Promise(() => {}); export default () => {};" });
    const path = join(folder, "index.ts");
    await expect(importExtension({ path, modules: {}, timeoutMs: 20 })).rejects.toMatchObject({
      code: "extension_hung",
      message: expect.stringContaining(path),
    });
  });

  test("the hint says how and where to install a missing package", async () => {
    const folder = folderWith({
      "package.json": "{}",
      "src/index.ts": `import "@some/thing/sub"; export default () => {};`,
    });
    await expect(started(folder, "src/index.ts")).rejects.toMatchObject({
      hint: `Run \`npm install @some/thing\` in ${folder}.`,
    });
  });
});
