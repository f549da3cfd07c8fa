import type { Scenario } from "@bonsai-agent/models/scripted";
import { everyRow } from "@bonsai-agent/testkit";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { Status } from "../../src/interactive/status/status.ts";
import { Screen } from "../../src/interactive/terminal/screen.ts";
import { makeTheme } from "../../src/interactive/terminal/theme.ts";
import { longSession } from "../call/sample-session.ts";
import { openInteractive } from "./harness.ts";
import { HeadlessTerminal } from "./headless-terminal.ts";

const scenario: Scenario = {
  contextWindow: 100_000,
  turn: [{ text: "First.", calls: [{ name: "bash", arguments: { command: "true" } }] }, { text: "Second." }],
  atEnd: "repeat",
};

/** The clock keeps running, and a test can move it forward instead of waiting. */
function withClock(): void {
  if (vi.isFakeTimers()) return;
  const toFake = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] as const;
  vi.useFakeTimers({ toFake: [...toFake], shouldAdvanceTime: true });
  onTestFinished(() => void vi.useRealTimers());
}

/** Waits until the hanging extension is named, with the clock moved forward. */
async function untilNamed(terminal: HeadlessTerminal, named: string): Promise<void> {
  await terminal.nextFrame();
  await vi.advanceTimersByTimeAsync(1_000);
  await terminal.until(named);
}

/** Opens the interactive mode with an extension that never answers in one event. */
function hanging(event: string, argv: readonly string[] = []) {
  const source = `export default function (bonsai) { bonsai.on("${event}", () => new Promise(() => {})); }`;
  const files = { "hang.mjs": source };
  withClock();
  const opened = openInteractive({ scenario, files, columns: 100, argv: ["-e", "./hang.mjs", ...argv] });
  const { terminal } = opened;
  return {
    ...opened,
    terminal,
    send(text: string) {
      terminal.type(text);
      terminal.press("enter");
    },
    /** Resolves once the extension is named, and Esc has emptied the activity line. */
    async leave(named: string) {
      await untilNamed(terminal, named);
      terminal.press("esc");
      await vi.advanceTimersByTimeAsync(5_000);
      return terminal.until((screen) => !/aiting for hang|Stopping/.test(screen));
    },
  };
}

test("an extension that hangs while the agent works is named, and Esc stops it", () =>
  everyRow([
    ["input", "hello", "Waiting for hang.mjs in input… (Esc to stop)"],
    ["context", "hello", "Waiting for hang.mjs in context… (Esc to stop)"],
    ["tool_call", "hello", "Waiting for hang.mjs in tool_call… (Esc to stop)"],
    ["user_bash", "!true", "Running true (Esc to cancel) · waiting for hang.mjs in user_bash"],
    ["agent_end", "hello", "Waiting for hang.mjs in agent_end… (Esc to stop)"],
  ] as const)(async ([event, text, named]) => {
    const { terminal, send, leave } = hanging(event);
    await terminal.until("Type a task");
    send(text);
    await leave(named);
  }));

test("an extension that hangs before /new keeps the session open on Esc, and does not block /quit", async () => {
  const { terminal, send, leave, ended } = hanging("session_before_switch");
  await terminal.until("Type a task");
  send("/new");
  await leave("Waiting for hang.mjs in session_before_switch… (Esc to stop)");
  await terminal.until("An extension keeps this session open.");
  send("/quit");
  await ended;
});

test("an extension that hangs when the session starts does not block the agent", async () => {
  const { terminal, send, leave } = hanging("session_start");
  await leave("Waiting for hang.mjs in session_start… (Esc to stop)");
  send("hello");
  await terminal.until("Second.");
});

test("an extension that hangs after /reload does not block the next message", async () => {
  const files = {
    "hang.mjs": `export default function (bonsai) {
      bonsai.on("session_start", ({ reason }) => (reason === "reload" ? new Promise(() => {}) : undefined));
    }`,
  };
  withClock();
  const { terminal } = openInteractive({ scenario, files, columns: 100, argv: ["-e", "./hang.mjs"] });
  await terminal.until("Type a task");
  terminal.type("/reload\n");
  await untilNamed(terminal, "Waiting for hang.mjs in session_start… (Esc to stop)");
  terminal.press("esc");
  await terminal.until("Reloaded 1 extension");
  terminal.type("hello\n");
  await terminal.until("Second.");
});

test("Esc leaves an extension that hangs in an event outside of a run, also at the end", async () => {
  const source = `export default function (bonsai) {
    for (const event of ["session_info_changed", "model_select", "session_shutdown"])
      bonsai.on(event, () => new Promise(() => {}));
  }`;
  withClock();
  const { terminal, ended } = openInteractive({
    ...{ scenario, columns: 100, argv: ["-e", "./hang.mjs"] },
    files: { "hang.mjs": source, "other.json": JSON.stringify(scenario) },
  });
  await terminal.until("Type a task");
  for (const [command, event] of [
    ["/model scripted/other.json", "model_select"],
    ["/name Work", "session_info_changed"],
    ["/quit", "session_shutdown"],
  ]) {
    terminal.type(`${command}\n`);
    await untilNamed(terminal, `Waiting for hang.mjs in ${event}… (Esc to stop)`);
    terminal.press("esc");
    if (command !== "/quit") await terminal.until((screen) => !screen.includes("aiting for hang"));
  }
  await ended;
});

test("an extension that hangs before a compaction is named beside it, and Esc cancels only the compaction", async () => {
  const { terminal, send, leave } = hanging("session_before_compact", ["--session", longSession()]);
  await terminal.until("k/100k");
  send("/compact");
  await leave("Compacting... (Esc to cancel) · waiting for hang.mjs in session_before_compact");
  await terminal.until("Compaction cancelled. Nothing changed.");
});

describe("the activity line", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("names a handler only while it is slow, unanswered, and asks no question", async () => {
    const screen = new Screen({ terminal: new HeadlessTerminal(), theme: makeTheme("none") });
    const status = new Status({ screen, cwd: "/", folder: "/", agent: () => undefined });
    const said = () => screen.activity.render(80).join("").trim();
    const end = status.onSlowAnswer({ source: "ask.ts", event: "input" });
    const panel = { render: () => ["Press"], handleInput() {}, invalidate() {} };
    let answer = () => {};
    const asked = screen.show<void>((done) => {
      answer = () => done(undefined);
      return panel;
    });
    vi.advanceTimersByTime(60_000);
    expect(said()).toBe("");
    answer();
    await asked;
    status.onSlowAnswer({ source: "quick.ts", event: "input" })();
    vi.advanceTimersByTime(1_000);
    expect(said()).toContain("Waiting for ask.ts in input… (Esc to stop)  1 s");
    end();
    expect(said()).toBe("");
    status.stop();
  });
});
