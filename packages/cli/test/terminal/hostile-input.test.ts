import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Scenario } from "@bonsai-agent/models/scripted";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { drawsImage } from "../../src/interactive/terminal/inline-image.ts";
import { MainScreen } from "../../src/interactive/terminal/main-screen.ts";
import { visibleWidth } from "../../src/interactive/terminal/tui.ts";
import { agentProject } from "../agent-project.ts";
import { openInteractive } from "../interactive/harness.ts";
import { keySequence } from "../interactive/key-sequences.ts";
import { runCli } from "../run-cli.ts";

const strange = "a\tb\u001b[31mred\u001b]0;mine\u0007\u202e\u0000 日本語 👨‍👩‍👧‍👦 e\u0301 \ud800 ﷽ ";
const scenario: Scenario = {
  contextWindow: 30_000,
  atEnd: "repeat",
  turn: [
    {
      text: `${strange}\n\n\`\`\`ts\nconst a = 1;\n\`\`\`\n| a | b |\n|---|---|\n| 日本 | ${"w".repeat(90)} |`,
    },
    { thinking: strange, text: "x".repeat(500), calls: [{ name: "ls", arguments: {} }] },
    { calls: [{ name: "nope", arguments: { strange } }] },
    { error: { status: 400, message: strange } },
    { text: "Slowly. ".repeat(40), delayMs: 1, chunkChars: 9 },
  ],
  summary: [{ text: strange }],
};

const named = [
  "enter",
  "esc",
  "tab",
  "shift+tab",
  "backspace",
  "up",
  "down",
  "left",
  "right",
  "pageUp",
  "home",
];
const held = [
  "ctrl+c",
  "ctrl+o",
  "ctrl+l",
  "ctrl+u",
  "ctrl+w",
  "ctrl+j",
  "alt+enter",
  "alt+up",
  "shift+enter",
];
const key = fc.constantFrom(...[...named, ...held].map(keySequence));
const report = fc.constantFrom(
  ...[
    "\u001b[<0;10;10M",
    "\u001b[I",
    "\u001b[97;1:3u",
    "\u001b[99;5:3u",
    "\u001b]11;rgb:ffff/ff",
    "\u001b[?1u",
  ],
  ...[
    "\u001b[",
    "\u001bO",
    "\u001b_G",
    "\ufffd",
    "\udc00",
    "\u009b",
    "\u0000",
    "\u001b[9999999999u",
    "\u001b[;;u",
  ],
);
const text = fc.constantFrom(
  "word",
  "日本語",
  "👨‍👩‍👧‍👦",
  "@",
  "/",
  "!!echo hi",
  "[paste #1 +3 lines]",
  "\\",
  "x".repeat(300),
);
const paste = fc
  .constantFrom(strange, "a\nb", "l\n".repeat(30), "/x/y.png", "")
  .map((each) => `\u001b[200~${each}\u001b[201~`);
const command = fc
  .constantFrom(
    "help",
    "tree",
    "fork",
    "context",
    "resume",
    "model",
    "settings",
    "login",
    "trust",
    "label",
    "name x",
  )
  .map((each) => `\u0015/${each}\r`);
const size = fc.record({ columns: fc.integer({ min: 1, max: 120 }), rows: fc.integer({ min: 1, max: 50 }) });
const happening = fc.oneof(key, key, report, text, paste, command, size, fc.constant("say something\r"));

/** As a terminal sends it: a key at a time, but for what is one sequence. */
function keysOf(sent: string): string[] {
  return sent.startsWith("\u001b") || !/\p{Cc}/u.test(sent) ? [sent] : Array.from(sent);
}

test("Law: any terminal input leaves lines that fit, and Ctrl-C twice ends the program", async () => {
  const tooWide = widthsWatched();
  const law = fc.asyncProperty(fc.array(happening, { minLength: 20, maxLength: 40 }), async (happenings) => {
    const project = agentProject(scenario, { "a b.txt": "x" });
    const { terminal, ended } = openInteractive({ project, background: "#ffffff" });
    await terminal.until("scripted");
    for (const each of happenings) {
      if (typeof each === "object") terminal.resize(each.columns, each.rows);
      else for (const sent of keysOf(each)) terminal.send(sent);
      await new Promise((resolve) => setImmediate(resolve));
    }
    terminal.resize(80, 24);
    for (let press = 0; press < 4; press += 1) terminal.press("ctrl+c");
    expect(await ended).toBe(0);
    await terminal.settle().catch(() => {});
    expect(tooWide).toEqual([]);
    for (const file of sessionsIn(project.home)) {
      const { code, stdout, stderr } = await runCli(["doctor", file], project);
      expect(code, stdout + stderr).toBe(0);
    }
  });
  await fc.assert(law, { numRuns: 4, seed: 7 });
});

/** Lines that went to the terminal and were wider than it was. */
function widthsWatched(): string[] {
  const found: string[] = [];
  const screen = MainScreen.prototype as unknown as Record<"applyLineResets", typeof apply>;
  const original = screen.applyLineResets;
  function apply(this: MainScreen, lines: string[]): string[] {
    const made = original.call(this, lines);
    const { columns } = this.terminal;
    found.push(...made.filter((line) => !drawsImage(line) && visibleWidth(line) > columns));
    return made;
  }
  screen.applyLineResets = apply;
  onTestFinished(() => {
    screen.applyLineResets = original;
  });
  return found;
}

function sessionsIn(home: string): string[] {
  const names = readdirSync(home, { recursive: true }) as string[];
  return names.filter((name) => /sessions.*\.jsonl$/.test(name)).map((name) => join(home, name));
}
