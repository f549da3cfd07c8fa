import { afterEach, expect, test, vi } from "vitest";
import type { CliIo } from "../../src/call/io.ts";
import { withProgress } from "../../src/call/output.ts";

afterEach(() => {
  vi.useRealTimers();
});

test("a progress bar shows the finished share and the time left, and is removed at the end", async () => {
  vi.useFakeTimers();
  let written = "";
  const write = (text: string) => {
    written += text;
  };
  const io = { env: { NO_COLOR: "1" }, stderr: { isTTY: true, write } } as unknown as CliIo;
  await withProgress(io, "Replaying", async (_hide, advance) => {
    advance(0.1);
    expect(written).toBe("");
    vi.advanceTimersByTime(10_000);
    advance(0.25);
    expect(written).toContain("█████░");
    expect(written).toMatch(/25%, 30 s left/);
  });
  expect(written.endsWith("\r\u001b[K")).toBe(true);
});
