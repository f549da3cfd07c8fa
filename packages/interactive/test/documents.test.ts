import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { slashCommands } from "../src/slash/slash-commands.ts";
import { actionNames, actions } from "../src/terminal/keys.ts";

const page = readFileSync(new URL("../../cli/INTERACTIVE.md", import.meta.url), "utf8");

/** The rows of the table under a heading, without its head. */
function rows(heading: string): string[] {
  const section = page.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  return section.split("\n").filter((line) => line.startsWith("| `"));
}

test("INTERACTIVE.md has every command with its words, in the order of /help, and no other", () => {
  expect(rows("Commands")).toEqual(
    slashCommands.map(({ name, argumentHint, description }) => {
      const call = argumentHint === undefined ? `/${name}` : `/${name} ${argumentHint}`;
      return `| \`${call}\` | ${description} |`;
    }),
  );
});

test("INTERACTIVE.md has every action with its keys, and no other", () => {
  expect(rows("Keys")).toEqual(
    actionNames.map((name) => {
      const { keys, description } = actions[name];
      return `| \`${name}\` | ${keys.map((key) => `\`${key}\``).join(", ") || "—"} | ${description} |`;
    }),
  );
});
