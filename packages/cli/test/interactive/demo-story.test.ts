import { expect, test } from "vitest";
import { DemoStory } from "../../src/interactive/slash/demo.ts";
import { visibleWidth } from "../../src/interactive/terminal/tui.ts";
import { says } from "../call/agent-project.ts";
import { openInteractive } from "./harness.ts";

test("a chart keeps its shape on a narrow terminal, and a path can be read in full", () => {
  const story = new DemoStory(() => {});
  story.write(
    "── The bill ───────────────────\n  project  /tmp/some/long/path/of/a/project\n  █ █ █ █ █ █ █ █ █ █ █ █\n",
  );
  const lines = story.render(20);
  for (const line of lines) expect(visibleWidth(line)).toBeLessThanOrEqual(20);
  expect(lines.filter((line) => line.includes("─"))).toHaveLength(1);
  expect(lines.filter((line) => line.includes("█"))).toHaveLength(1);
  expect(lines.join("").replace(/\s/g, "")).toContain("/tmp/some/long/path/of/a/project");
});

test("the demo plays once at a time, and stays visible in another session", async () => {
  const { terminal } = openInteractive({ scenario: says("Good."), rows: 60 });
  await terminal.until("/100k");
  terminal.type("/demo\n");
  await terminal.until("Esc stops it");
  await terminal.until("The tests fail");
  terminal.type("/demo\n");
  await terminal.until("The demo is already running.");
  terminal.type("/new\n");
  await terminal.until(
    (screen) => !screen.includes("already running") && screen.includes("I run the tests first"),
  );
  terminal.press("esc");
  await terminal.until("Stopped.");
  terminal.type("hello\n");
  await terminal.until("Good.");
});
