import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { afterAll, expect, test } from "vitest";
import { isWrittenForPi } from "../src/written-for-pi.ts";

const folder = mkdtempSync(join(tmpdir(), "written-for-pi-"));
afterAll(() => rmSync(folder, { recursive: true }));

let count = 0;
function guess(files: Record<string, string>): boolean {
  const own = join(folder, String(count++));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(own, name)), { recursive: true });
    writeFileSync(join(own, name), text);
  }
  return isWrittenForPi(join(own, Object.keys(files)[0]!));
}

const typesOfPi = 'import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";';

const forPi = [
  typesOfPi,
  "import { complete } from '@mariozechner/pi-ai';",
  'import "@earendil-works/pi-tui"; export default (api) => {}',
  'const { Text } = require("@earendil-works/pi-tui"); module.exports = (api) => {};',
  'export default async (api) => { await import("@earendil-works/pi-ai"); };',
  '/** @param {import("@earendil-works/pi-coding-agent").ExtensionAPI} api */ export default (api) => {};',
  '/** @import { ExtensionAPI } from "@mariozechner/pi-coding-agent" */ export default (api) => {};',
  'const glob = "src/**/*.ts";\nimport "@earendil-works/pi-ai"; /* end */',
  `// runs in "@bonsai-agent/extension" too\n${typesOfPi}`,
  "export default function (pi) {}",
  "export default async (pi) => {};",
  "export default pi => {};",
  "export default function named(pi: API) {}",
  "export default defineExtension((pi) => {});",
  "const todo = (pi) => {};\nexport default todo;",
  "async function todo(pi) {}\nexport { todo as default };",
  "module.exports = function (pi) {};",
  "function todo(pi) {}\nmodule.exports = todo;",
];

test("imports of pi's packages, or a parameter named pi, show that an extension was written for pi", () =>
  everyRow(forPi)((text) => expect(guess({ "extension.ts": text })).toBe(true)));

const notForPi = [
  'import type { ExtensionAPI } from "@bonsai-agent/extension"; export default function (pi) {}',
  'import "@bonsai-agent/extension"; import "@earendil-works/pi-tui";',
  'import { messageText } from "@bonsai-agent/messages"; export default (pi) => {};',
  "export default (api) => {};",
  "export default function (pipe) {}",
  "const pi = 3.14; export default (bonsai) => bonsai.on('x', () => area(pi));",
  "export default (bonsai) => area(pi, 2);",
  "const area = (pi) => pi * 2; export default function (bonsai) { area(3.14); }",
  "export default make(pi);",
  '// was: import "@earendil-works/pi-ai"\nexport default (bonsai) => {};',
  '/* for pi, see "@earendil-works/pi-coding-agent" */ export default (bonsai) => {};',
  'const names = ["@earendil-works/pi-ai"]; export default (bonsai) => {};',
  "",
];

test("imports of Bonsai's packages and mentions of pi do not", () =>
  everyRow(notForPi)((text) => expect(guess({ "extension.ts": text })).toBe(false)));

const moduleGraphs: [string, Record<string, string>, boolean][] = [
  [
    "the types are in another module",
    { "index.ts": 'export { default } from "./src/main.js";', "src/main.ts": typesOfPi },
    true,
  ],
  [
    "without an ending",
    { "index.ts": 'import main from "./src"; export default main;', "src/index.ts": typesOfPi },
    true,
  ],
  [
    "only the name of the parameter shows it",
    { "index.js": 'export { default } from "./main.js"', "main.js": "export default (pi) => {}" },
    true,
  ],
  [
    "the near module counts before the far one",
    { "index.ts": `${typesOfPi} import "./both.ts"`, "both.ts": 'import "@bonsai-agent/extension"' },
    true,
  ],
  [
    "Bonsai's types are in another module",
    {
      "index.ts": 'export { default } from "./own.ts"',
      "own.ts": 'import "@bonsai-agent/extension"; export default (pi) => {}',
    },
    false,
  ],
  [
    "modules import each other",
    { "a.ts": 'import "./b.ts"', "b.ts": 'import "./a.ts"; import "./gone.ts"' },
    false,
  ],
];

test("the nearest module with an import decides", () =>
  everyRow(moduleGraphs)(([_case, files, expected]) => expect(guess(files)).toBe(expected)));

test("an extension without a file was not written for pi", () => {
  expect(isWrittenForPi("inline:extension")).toBe(false);
});
