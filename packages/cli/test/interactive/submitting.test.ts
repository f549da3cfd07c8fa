import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Scenario } from "@bonsai-agent/models/scripted";
import { expect, onTestFinished, test, vi } from "vitest";
import { agentProject, says } from "../call/agent-project.ts";
import { openInteractive } from "./harness.ts";
import { longStory } from "./long-story.ts";

const slow: Scenario = { contextWindow: 100_000, turn: [longStory], atEnd: "repeat" };

test("words of the command line are the first prompt", async () => {
  const { terminal } = openInteractive({ scenario: says("Fixed."), argv: ["fix", "the", "test"] });
  await terminal.until("Fixed.");
  expect(terminal.screen()).toContain("fix the test");
});

test("an unknown command names the nearest one and returns to the editor; a failed command does not return", async () => {
  const { terminal } = openInteractive({ scenario: says("Never said.") });
  await terminal.until("/100k");
  terminal.type("/exprot notes.md\n");
  const unknown = await terminal.until("Did you mean /export?");
  expect(unknown).not.toContain("Never said.");
  expect(unknown.split("/exprot notes.md")).toHaveLength(2);
  terminal.press("ctrl+u");
  terminal.type("/undo\n");
  const failed = await terminal.until(/no compaction/i);
  expect(failed).not.toMatch(/^\s*\/undo\s*$/m);
  terminal.type("/session\n");
  expect(await terminal.until(/^\s*file\b/im)).not.toContain("Never said.");
});

test("a text that begins with a path goes to the model, and one that begins with ! to the shell", async () => {
  const { terminal } = openInteractive({ scenario: says("A folder.") });
  await terminal.until("/100k");
  terminal.type("/tmp is what?\n");
  await terminal.until("A folder.");
  terminal.type("!echo $((6 * 7))\n");
  await terminal.until(/^ *42$/m);
});

test("a file named with @ goes along; one that is not there is notified, and the text comes back", async () => {
  const { terminal, project } = openInteractive({
    scenario: says("Read."),
    files: { "notes.md": "All my secrets." },
  });
  await terminal.until("/100k");
  terminal.paste("What is in @notes.md and @missing.md");
  terminal.press("enter");
  const screen = await terminal.until("does not exist");
  expect(screen).toContain("What is in @notes.md and @missing.md");
  terminal.press("ctrl+c");
  terminal.paste("What is in @notes.md please");
  terminal.press("enter");
  await terminal.until("Read.");
  expect(sessionText(project.home)).toContain("All my secrets.");
});

test("Esc stops the run; what was queued comes back as it was typed", async () => {
  const { terminal } = openInteractive({ scenario: slow, files: { "notes.md": "Long notes." } });
  await terminal.until("/100k");
  terminal.type("Tell me a story\n");
  await terminal.until("Begun word");
  terminal.paste("and look at @notes.md too");
  terminal.press("enter");
  terminal.type("a half");
  await terminal.until("a half");
  terminal.press("esc");
  const screen = await terminal.until((each) => /and look at @notes\.md too\s+a half/.test(each));
  expect(screen).not.toContain("Long notes.");
});

test("a command that needs rest is refused while the agent works; a typed one returns to the editor, one by key does not", async () => {
  const project = agentProject(slow);
  writeFileSync(join(project.home, "keybindings.json"), JSON.stringify({ tree: "ctrl+t" }));
  const { terminal } = openInteractive({ project });
  await terminal.until("/100k");
  terminal.type("Tell me a story\n");
  await terminal.until("Begun word");
  terminal.type("a half");
  terminal.press("ctrl+t");
  const screen = await terminal.until("/tree has to wait for the agent");
  expect(screen.split("/tree")).toHaveLength(2);
  expect(screen).toContain("a half");
  terminal.press("ctrl+u");
  terminal.type("/new\n");
  await terminal.until("/new has to wait for the agent");
  await terminal.until(/─\n\/new\s*\n─/);
  terminal.press("ctrl+u");
  terminal.type("!ls\n");
  await terminal.until("The ! command has to wait for the agent");
});

test("a message sent before the session opens waits for it", async () => {
  const { terminal, begin } = openLate();
  terminal.type("Early bird\n");
  await terminal.until("Next: Early bird");
  begin();
  const screen = await terminal.until("Good.");
  expect(screen).not.toMatch(/Next: Early|Sent as soon/);
});

test("a message sent before the session opens can be taken back", async () => {
  const { terminal, begin } = openLate();
  terminal.type("Early bird\n");
  await terminal.until("Next: Early bird");
  terminal.press("alt+up");
  begin();
  await terminal.until("/100k");
  expect(terminal.screen()).toMatch(/─\n+\s*Early bird\s*\n─/);
});

/** Opens the interactive mode with a session that is open only from `begin` on. */
function openLate() {
  const { promise, resolve: begin } = Promise.withResolvers<void>();
  vi.stubGlobal("mayBegin", promise);
  onTestFinished(() => void vi.unstubAllGlobals());
  const late = `export default (bonsai) => bonsai.on("session_start", () => globalThis.mayBegin);`;
  const opened = openInteractive({
    ...{ scenario: says("Good."), argv: ["-e", "./late.mjs"] },
    files: { "late.mjs": late },
  });
  return { ...opened, begin };
}

function sessionText(home: string): string {
  const folder = join(home, "sessions");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return files
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("\n");
}
