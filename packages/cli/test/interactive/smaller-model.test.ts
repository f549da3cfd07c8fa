import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { says } from "../call/agent-project.ts";
import { openInteractive } from "./harness.ts";

test("a model whose window the context has outgrown is notified, with what happens next", async () => {
  const scenario = says(`Long. ${"word ".repeat(6_000)}`);
  const { terminal, project } = openInteractive({ columns: 240, scenario });
  const use = (name: string, contextWindow: number) => {
    const file = join(project.home, name);
    writeFileSync(file, JSON.stringify({ contextWindow, turn: [{ text: "Short." }] }));
    terminal.type(`/model scripted/${file}\n`);
  };
  await terminal.until("/100k");
  terminal.type("Say much\n");
  await terminal.until(/ [5-9](\.\d)?k\/100k/);
  use("large.json", 64_000);
  await terminal.until(/large\.json,\s+from\s+the next/);
  expect(terminal.screen()).not.toContain("compacts it first");
  use("small.json", 8_000);
  const screen = await terminal.until("compacts it first");
  expect(screen.replaceAll(/\s+/g, " ")).toContain("is above this model's limit of 5,952");
});
