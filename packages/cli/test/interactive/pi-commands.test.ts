import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { slashCommandOf, unknownCommand } from "../../src/interactive/slash/slash-commands.ts";

test("every command of pi exists", () =>
  everyRow(
    "settings model thinking scoped-models login logout new resume name session tree fork clone compact import copy export trust reload hotkeys quit".split(
      " ",
    ),
  )((name) => {
    expect(slashCommandOf(`/${name}`)?.command.name).toBe(name);
  }));

test("pi's other commands name Bonsai's form", () =>
  everyRow([
    ["share", "/export"],
    ["mcp", "bonsai extension add mcp"],
    ["llama", "/model"],
    ["changelog", "bonsai --version"],
    ["bug", "/session"],
  ])(([name, form]) => {
    const error = unknownCommand(`/${name}`, []);
    expect(error?.message).toBe(`There is no command /${name}.`);
    expect(error?.hint).toContain(form);
  }));
