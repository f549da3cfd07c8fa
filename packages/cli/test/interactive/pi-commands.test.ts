import { expect, test } from "vitest";
import { slashCommandOf, unknownCommand } from "../../src/interactive/slash/slash-commands.ts";

test.each(
  "settings model thinking scoped-models login logout new resume name session tree fork clone compact import copy export trust reload hotkeys quit".split(
    " ",
  ),
)("pi's command /%s exists", (name) => {
  expect(slashCommandOf(`/${name}`)?.command.name).toBe(name);
});

test.each([
  ["share", "/export"],
  ["mcp", "bonsai extension add mcp"],
  ["llama", "/model"],
  ["changelog", "bonsai --version"],
  ["bug", "/session"],
])("pi's command /%s names Bonsai's form", (name, form) => {
  const error = unknownCommand(`/${name}`, []);
  expect(error?.message).toBe(`There is no command /${name}.`);
  expect(error?.hint).toContain(form);
});
