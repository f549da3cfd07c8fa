import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { agentProject, says } from "../../app/test/agent-project.ts";
import { extensionName, loadedLines } from "../src/session/welcome.ts";
import { openInteractive } from "./harness.ts";

test("the start screen names what was loaded, and what could not be", async () => {
  const project = agentProject(says("Hello."));
  writeFileSync(join(project.cwd, "AGENTS.md"), "Be kind.");
  const folder = join(project.home, "extensions");
  mkdirSync(join(folder, "many"), { recursive: true });
  writeFileSync(join(folder, "quiet.ts"), "export default () => {};\n");
  writeFileSync(join(folder, "many", "index.ts"), "export default () => {};\n");
  writeFileSync(join(folder, "broken.ts"), "throw new Error('No luck');\n");
  const { terminal } = openInteractive({ project, rows: 40 });
  const screen = await terminal.until("extensions:");
  expect(screen).toMatch(/instructions: AGENTS\.md\n/);
  expect(screen).toMatch(/extensions: (?:many, quiet|quiet, many)\n/);
  expect(screen).toMatch(/! The extension\s+\S+broken\.ts was not\s+loaded\./);
});

test("many are folded, one never alone", () => {
  const names = (count: number) => Array.from({ length: count }, (_, at) => `e${at}`);
  expect(loadedLines({ instructions: [], extensions: names(6) })).toEqual([
    "extensions: e0, e1, e2, e3, e4, e5",
  ]);
  expect(loadedLines({ instructions: ["a\u001b[2J"], extensions: names(1_207) })).toEqual([
    "instructions: a␛[2J",
    "extensions: e0, e1, e2, e3, e4 and 1,202 more",
  ]);
  expect(loadedLines({ instructions: [], extensions: [] })).toEqual([]);
});

test.each([
  ["todo", "/x/todo.ts"],
  ["todo", "/x/todo/index.ts"],
  ["todo", "/x/node_modules/@me/todo/dist/index.js"],
])("an extension is called %s for its path %s", (name, path) => {
  expect(extensionName(path)).toBe(name);
});
