import { afterAll, vi } from "vitest";

/** Test files of a worker share its timers: one that leaves fake ones makes the next file hang. */
afterAll(() => {
  const areFake = vi.isFakeTimers();
  vi.useRealTimers();
  if (areFake) throw new Error("This file left fake timers behind. Call vi.useRealTimers() after each test.");
});
