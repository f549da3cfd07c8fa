import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { CliIo } from "../../src/call/io.ts";
import { withProgress, withReadingProgress } from "../../src/call/output.ts";
import { testFolder } from "./sample-session.ts";

function terminal(isTTY: boolean): { io: CliIo; written: string[] } {
  const written: string[] = [];
  const stderr = { isTTY, write: (text: string) => written.push(text) };
  const io: CliIo = {
    stdout: stderr,
    stderr,
    stdin: undefined,
    env: { NO_COLOR: "1" },
    cwd: "/",
    now: Date.now,
    interruptible: (work) => work(new AbortController().signal),
  };
  return { io, written };
}

test("work longer than half a second shows a line and removes it", async () => {
  vi.useFakeTimers();
  const { io, written } = terminal(true);
  const work = withProgress(io, "Compacting", () => new Promise((resolve) => setTimeout(resolve, 900)));
  await vi.advanceTimersByTimeAsync(400);
  expect(written).toEqual([]);
  await vi.advanceTimersByTimeAsync(200);
  expect(written).toEqual(["\rCompacting…"]);
  await vi.advanceTimersByTimeAsync(400);
  await work;
  expect(written.at(-1)).toBe("\r\u001b[K");
  vi.useRealTimers();
});

test("work that shows something itself hides the line before, for good", async () => {
  vi.useFakeTimers();
  const { io, written } = terminal(true);
  const after = (delayMs: number, step: () => void) => setTimeout(step, delayMs);
  const late = withProgress(io, "Compacting", (hide) => {
    after(900, hide);
    return new Promise((resolve) => after(2_000, () => resolve(undefined)));
  });
  const early = withProgress(io, "Installing", async (hide) => {
    hide();
    await new Promise((resolve) => after(2_000, () => resolve(undefined)));
  });
  await vi.advanceTimersByTimeAsync(2_000);
  await Promise.all([late, early]);
  expect(written).toEqual(["\rCompacting…", "\r\u001b[K"]);
  vi.useRealTimers();
});

test("a pipe on stderr shows no progress", async () => {
  vi.useFakeTimers();
  const { io, written } = terminal(false);
  const work = withProgress(io, "Compacting", () => new Promise((resolve) => setTimeout(resolve, 900)));
  await vi.advanceTimersByTimeAsync(1000);
  await work;
  expect(written).toEqual([]);
  vi.useRealTimers();
});

test("reading a large file is announced beforehand", () => {
  const file = join(testFolder(), "large.jsonl");
  writeFileSync(file, "");
  const small = terminal(true);
  expect(withReadingProgress(small.io, file, () => 1)).toBe(1);
  expect(small.written).toEqual([]);
  truncateSync(file, 200_000_000);
  const large = terminal(true);
  withReadingProgress(large.io, file, () => 1);
  expect(large.written).toEqual(["\rReading 200 MB…", "\r\u001b[K"]);
});
