import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { extensionName, loadedLines } from "../../src/interactive/session/welcome.ts";
import { agentProject, says } from "../call/agent-project.ts";
import { openInteractive } from "./harness.ts";

test("the start screen names loaded and failed resources", async () => {
  const project = agentProject(says("Hello."));
  writeFileSync(join(project.cwd, "AGENTS.md"), "Be kind.");
  const folder = join(project.home, "extensions");
  mkdirSync(join(folder, "many"), { recursive: true });
  writeFileSync(join(folder, "quiet.ts"), "export default () => {};\n");
  writeFileSync(join(folder, "many", "index.ts"), "export default () => {};\n");
  writeFileSync(join(folder, "broken.ts"), "throw new Error('No luck');\n");
  const { terminal } = openInteractive({ project, rows: 40 });
  const screen = await terminal.until("Extensions:");
  expect(screen).toMatch(/Instructions: AGENTS\.md\n/);
  expect(screen).toMatch(/Extensions: (?:many, quiet|quiet, many)\n/);
  expect(screen).toMatch(/! Could not load the extension\s+\S+broken\.ts/);
});

test("the start screen adds skills, prompt templates and MCP servers once they are known", async () => {
  const project = agentProject(says("Hello."));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(project.home, path)), { recursive: true });
    writeFileSync(join(project.home, path), text);
  };
  write("skills/review/SKILL.md", "---\nname: review\ndescription: Reviews.\n---\nReview it.\n");
  write("prompts/fix.md", "Fix it.");
  write(
    "extensions/mcp.ts",
    `export default (bonsai) => bonsai.registerCommand("mcp", {
      getArgumentCompletions: (typed) =>
        typed === "login " ? ["files", "web"].map((label) => ({ value: "login " + label, label })) : null,
      handler() {},
    });`,
  );
  const { terminal } = openInteractive({ project, rows: 40 });
  expect(await terminal.until("MCP servers: files, web")).toContain(
    "\n Skills: review\n Prompt templates: /fix\n Extensions: mcp\n MCP servers: files, web\n",
  );
});

test("names are cut at the width", () => {
  const names = (count: number) => Array.from({ length: count }, (_, at) => `e${at}`);
  expect(loadedLines({ extensions: names(3) }, 40)).toEqual(["Extensions: e0, e1, e2"]);
  expect(loadedLines({ instructions: ["a\u001b[2J"], extensions: names(1_207) }, 26)).toEqual([
    "Instructions: a␛[2J",
    "Extensions: e0, e1, e2, e…",
  ]);
  expect(loadedLines({ extensions: [] }, 40)).toEqual([]);
});

test("an extension is named after its file, folder or package", () =>
  everyRow([
    ["todo", "/x/todo.ts"],
    ["todo", "/x/todo/index.ts"],
    ["todo", "/x/node_modules/@me/todo/dist/index.js"],
  ])(([name, path]) => {
    expect(extensionName(path)).toBe(name);
  }));
