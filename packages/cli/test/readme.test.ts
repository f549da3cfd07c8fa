import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { agentFlags, grammar } from "../src/grammar.ts";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");

test("the README's table has every command, in order", () => {
  const named = [...readme.matchAll(/^\| `bonsai (\w+)/gm)].map((match) => match[1]);
  expect(named).toEqual(grammar.map((command) => command.name));
});

test("the README names every flag of compact", () => {
  const compact = grammar.find((command) => command.name === "compact")!;
  for (const { flags } of compact.options ?? []) {
    const short = flags.split(/[ ,]/)[0]!;
    expect(readme).toContain(`\`${short}`);
  }
});

test("the README names every flag of a prompt", () => {
  for (const { flags } of agentFlags) {
    for (const [flag] of flags.matchAll(/--?[a-z-]+/g)) expect(readme).toContain(`\`${flag}`);
  }
});
