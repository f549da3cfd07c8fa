import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { withLiveOutput } from "../../src/interactive/chat/command-block.ts";
import { Screen } from "../../src/interactive/terminal/screen.ts";
import { makeTheme } from "../../src/interactive/terminal/theme.ts";
import { visibleWidth } from "../../src/interactive/terminal/tui.ts";
import { openInteractive } from "./harness.ts";
import { HeadlessTerminal } from "./headless-terminal.ts";

test("a command's output appears while it runs, and once after its end", async () => {
  const { terminal, project } = openInteractive();
  await terminal.until("/100k");
  terminal.type("!echo first; until [ -f go ]; do sleep 0.02; done; echo last\n");
  await terminal.until(/^ {3}first$/m);
  writeFileSync(join(project.cwd, "go"), "");
  const screen = await terminal.until(
    (seen) => /^ {3}last$/m.test(seen) && seen.split("$ echo first").length === 2,
  );
  expect(screen.match(/^ {3}first$/gm)).toHaveLength(1);
});

test("the end of long output is shown, safe and in the width that there is", async () => {
  const screen = new Screen({ terminal: new HeadlessTerminal(), theme: makeTheme("none") });
  await withLiveOutput(screen, "make\nall", async (add) => {
    for (let at = 0; at < 5_000; at += 1) add(`line ${at} 日本語 ${"x".repeat(100)}\r\n`);
    add("\x1b[31m10 %\r50 %\r90 %\x1b[0m \x1b[2J\x07");
    for (const width of [10, 40, 80]) {
      const lines = screen.chat.render(width);
      expect(lines.length).toBeLessThan(30);
      for (const line of lines) expect(visibleWidth(line)).toBeLessThanOrEqual(width);
    }
    const lines = screen.chat.render(80).map(stripVTControlCharacters);
    expect(lines[1]).toBe(" $ make all");
    expect(lines.at(-2)).toContain("line 4999");
    expect(lines.at(-1)).toBe("   90 % ␇");
  });
  expect(screen.chat.render(80)).toEqual([]);
});
