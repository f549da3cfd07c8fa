import { everyRow } from "@bonsai-agent/testkit";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { WorkEvent } from "../../src/interactive/status/activity.ts";
import { ActivityLine, activityLines } from "../../src/interactive/status/activity-line.ts";
import { makeTheme } from "../../src/interactive/terminal/theme.ts";
import { visibleWidth } from "../../src/interactive/terminal/tui.ts";
import { elapsed } from "../../src/views/numbers.ts";

const theme = makeTheme("none");
const at = { nowMs: 65_000, frame: 0, theme };
const doing = { text: "Running bash: npm test -- --watch=false packages/cli", sinceMs: 0 };

test("a narrow activity line cuts the text and keeps the time", () => {
  expect(activityLines(doing, { ...at, width: 80 })).toMatchInlineSnapshot(`
    [
      "",
      "[1m ⠋ [22mRunning bash: npm test -- --watch=false packages/cli  1 min 5 s",
    ]
  `);
  expect(activityLines(doing, { ...at, width: 40 })).toMatchInlineSnapshot(`
    [
      "",
      "[1m ⠋ [22mRunning bash: npm test --…  1 min 5 s",
    ]
  `);
});

test("the line fits every terminal", () => {
  for (let width = 1; width <= 60; width += 1)
    for (const line of activityLines({ text: "走る".repeat(20), sinceMs: 0 }, { ...at, width }))
      expect(visibleWidth(line)).toBeLessThanOrEqual(width);
});

describe("the spinner turns", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const summaryStarts = {
    ...{ type: "session_before_tree", preparation: { userWantsSummary: true, entriesToSummarize: [{}] } },
  } as unknown as WorkEvent;

  function activityLine(isBusy = () => true) {
    let redraws = 0;
    const redraw = () => {
      redraws += 1;
    };
    const line = new ActivityLine({ theme, now: () => Date.now(), redraw, isBusy });
    return { line, redraws: () => redraws };
  }

  test("only while the agent works, and at most ten times a second", () => {
    const { line, redraws } = activityLine();
    expect(vi.getTimerCount()).toBe(0);
    line.dispatch({ type: "agent_start" });
    const before = redraws();
    vi.advanceTimersByTime(1_000);
    expect(redraws() - before).toBeGreaterThan(4);
    expect(redraws() - before).toBeLessThanOrEqual(10);
    line.dispatch({ type: "agent_end" } as WorkEvent);
    expect(vi.getTimerCount()).toBe(0);
    expect(line.render(80)).toEqual([""]);
  });

  test("until the agent is idle, even without an event for the end", () => {
    let isBusy = true;
    const { line } = activityLine(() => isBusy);
    line.dispatch(summaryStarts);
    expect(line.render(80).join("")).toContain("Summarising the branch…");
    isBusy = false;
    vi.advanceTimersByTime(1_000);
    expect(line.render(80)).toEqual([""]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

test("writes a duration in its largest units", () =>
  everyRow([
    [-5, "0 s"],
    [999, "0 s"],
    [59_999, "59 s"],
    [65_000, "1 min 5 s"],
    [3_600_000 + 3 * 60_000, "1 h 3 min"],
  ])(([ms, text]) => {
    expect(elapsed(ms)).toBe(text);
  }));

test("names the key that stops only if the line has room for it", () =>
  everyRow([
    [80, "\x1b[1m ⠋ \x1b[22mWorking…  1 min 5 s · Esc stops"],
    [30, "\x1b[1m ⠋ \x1b[22mWorking…  1 min 5 s"],
  ])(([width, line]) => {
    const doing = { text: "Working…", sinceMs: 0, stopKey: "Esc" };
    expect(activityLines(doing, { ...at, width })).toEqual(["", line]);
  }));

test("a countdown shows no second clock", () => {
  const doing = { text: "Retrying in 3 s", sinceMs: undefined, stopKey: "Esc" };
  expect(activityLines(doing, { ...at, width: 80 })).toEqual([
    "",
    "\x1b[1m ⠋ \x1b[22mRetrying in 3 s  Esc stops",
  ]);
});
