import { everyRow } from "@bonsai-agent/testkit";
import { afterEach, expect, test } from "vitest";
import { type HelpFacts, helpLines } from "../../src/interactive/slash/help.ts";
import { keys } from "../../src/interactive/terminal/keys.ts";
import { lineWidth, renderLine } from "../../src/views/line.ts";

afterEach(() => keys.bind({}));

const facts: HelpFacts = {
  commands: [
    { name: "tree", description: "Show the session tree and go to another entry", run() {} },
    { name: "compact", argumentHint: "[focus]", description: "Compact the context now", run() {} },
  ],
  templates: [
    {
      name: "frontend:component",
      argumentHint: "<name>",
      description: "Make one",
      source: "prompt",
      path: "/p/frontend/component.md",
      place: { path: "/p", origin: "project" },
    },
  ],
  skills: [],
  moreCommands: [{ name: "count", description: "Counts 日本語 and \u001b[31mred" }, { name: "bare" }],
  shortcuts: new Map([["ctrl+shift+k", { description: "Count all" }]]),
  keysFile: "/home/someone/.bonsai/keybindings.json",
};

const text = (width: number) =>
  helpLines(facts, width)
    .map((line) => renderLine(line, false))
    .join("\n");

test("lists commands, extensions' commands, and the bound keys", () => {
  keys.bind({ expand: ["ctrl+t", "f5"], suspend: [] });
  const help = text(100);
  expect(help).toMatch(/^ {2}\/compact \[focus\] {2}Compact the context now$/m);
  expect(help).toMatch(/^Extension commands\n {2}\/count +Counts 日本語 and /m);
  expect(help).toMatch(/^Prompt templates\n {2}\/frontend:component <name>\n? +Make one \(project\)$/m);
  expect(help).not.toContain("Skills\n");
  expect(help).toMatch(/^ {2}Ctrl-Shift-K +Count all$/m);
  expect(help).toMatch(/^ {2}Ctrl-T, F5 +Expand or fold .*\(expand\)$/m);
  expect(help).toMatch(/^ {2}no key +.*\(suspend\)$/m);
  expect(help).toMatch(/\(tui\.editor\.undo\)/);
  expect(help).toMatch(/^ {2}\\ Enter +New line/m);
  expect(help).not.toContain("Copy selection");
  expect(help).not.toContain("\u001b");
});

test("does not mention extensions without any", () => {
  const help = helpLines({ ...facts, moreCommands: [], shortcuts: new Map() }, 80);
  expect(help.map((line) => renderLine(line, false)).join("\n")).not.toContain("extensions");
});

test("every line fits the width", () =>
  everyRow([20, 40, 41, 60, 100, 200])((width) => {
    for (const line of helpLines(facts, width)) expect(lineWidth(line)).toBeLessThanOrEqual(width);
  }));
