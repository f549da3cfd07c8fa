import { expect, test } from "vitest";
import { agentProject, says } from "../call/agent-project.ts";
import { modelSummary } from "../call/model-summary.ts";
import { longSession } from "../call/sample-session.ts";
import { openInteractive } from "./harness.ts";
import type { HeadlessTerminal } from "./headless-terminal.ts";

const shell = Array.from({ length: 100 }, (_, at) => `shell ${at + 1}`);
const before = `${shell.join("\r\n")}\r\n`;

function expectKept(terminal: HeadlessTerminal, lines: readonly string[] = []): void {
  expect(terminal.written.join("")).not.toContain("\u001b[3J");
  expect(terminal.written.join("")).not.toContain("\u001b[2J");
  const all = terminal.scrollback().split("\n");
  expect(all.slice(0, 100)).toEqual(shell);
  for (const line of lines)
    expect(
      all.some((each) => each.includes(line)),
      line,
    ).toBe(true);
}

const sizes = [
  [80, 20],
  [70, 20],
  [40, 12],
  [41, 30],
  [100, 30],
  [100, 24],
  [60, 24],
  [80, 24],
] as const;

/** How often a line stands in what can be scrolled to. */
function times(terminal: HeadlessTerminal, line: string): number {
  return terminal
    .scrollback()
    .split("\n")
    .filter((each) => each.trim() === line).length;
}

test("an answer that comes while the terminal changes its size, again and again, is there from its beginning to its end", async () => {
  const words = Array.from({ length: 120 }, (_, at) => `Paragraph ${at}.`);
  const turn = [{ text: words.join("\n\n"), delayMs: 4, chunkChars: 40 }];
  const { terminal } = openInteractive({ before, scenario: { contextWindow: 100_000, turn } });
  await terminal.until("scripted");
  terminal.type("Tell me\n");
  await terminal.until(() => times(terminal, "Paragraph 3.") === 1);
  for (const [columns, rows] of sizes) {
    terminal.resize(columns, rows);
    await terminal.until((screen) => screen.match(new RegExp(`^─{${columns}}$`, "gm"))?.length === 2);
  }
  const screen = await terminal.until("Paragraph 119.");
  expect(screen.split("\n").filter((line) => line.startsWith("──"))).toHaveLength(2);
  expectKept(terminal, words);
});

test("unfolded text can be read by scrolling up, below the earlier lines", async () => {
  const output = Array.from({ length: 60 }, (_, at) => `out ${at}`).join("\n");
  const scenario = {
    contextWindow: 100_000,
    turn: [
      { calls: [{ name: "read", arguments: { path: "a.txt" } }] },
      { text: Array.from({ length: 30 }, (_, at) => `- point ${at}`).join("\n") },
    ],
  };
  const { terminal } = openInteractive({ before, project: agentProject(scenario, { "a.txt": output }) });
  await terminal.until("scripted");
  terminal.type("Read it\n");
  await terminal.until("point 29");
  const folded = terminal.screen();
  expect(times(terminal, "out 30")).toBe(0);
  terminal.press("ctrl+o");
  await terminal.until(() => times(terminal, "out 30") === 1);
  for (const line of ["● read a.txt", "out 0", "out 59"]) expect(times(terminal, line), line).toBe(2);
  terminal.press("ctrl+o");
  await terminal.until((screen) => screen === folded);
  expectKept(terminal);
});

test("a compaction, its undoing, and another session leave the scrollback alone", async () => {
  const scenario = {
    ...says("Well."),
    contextWindow: 100_000,
    summary: [{ text: modelSummary() }],
    atEnd: "repeat" as const,
  };
  const { terminal } = openInteractive({ before, scenario, argv: ["--session", longSession()], rows: 40 });
  await terminal.until("k/100k");
  const seen = terminal.screen().split("\n").slice(0, 20);
  terminal.type("/compact\n");
  await terminal.until("Compacted: ");
  expectKept(terminal, seen);
  terminal.type("/undo\n");
  await terminal.until("Undid the compaction");
  expectKept(terminal, seen);
  terminal.type("/new\n");
  await terminal.until(/^\s*bonsai 0\.0\.0/);
  expectKept(terminal, [...seen, "Undid the compaction"]);
});

test("a panel that is higher than what is left, and what waits, leave no blank line below the footer", async () => {
  const text = Array.from({ length: 40 }, (_, at) => `- point ${at}`).join("\n");
  const { terminal } = openInteractive({ before, scenario: says(text) });
  await terminal.until("scripted");
  terminal.type("Tell me\n");
  await terminal.until("point 39");
  await terminal.settle();
  const screen = terminal.screen();
  expect(screen.split("\n")).toHaveLength(24);
  for (const command of ["/help", "/settings", "/context"]) {
    terminal.type(`${command}\n`);
    await terminal.until(/Esc|esc/);
    terminal.press("esc");
    await terminal.until((now) => now.endsWith(screen.split("\n").at(-1)!) && !/Esc /.test(now));
    expect(terminal.screen().split("\n"), command).toHaveLength(24);
  }
  expectKept(terminal);
  for (let at = 0; at < 40; at += 1) expect(times(terminal, `- point ${at}`)).toBeGreaterThan(0);
});
