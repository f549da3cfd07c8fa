import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CallClock } from "../src/call-clock.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Lets time pass, with a sign of life each second. */
function drip(clock: CallClock, seconds: number): void {
  for (let second = 0; second < seconds; second += 1) {
    vi.advanceTimersByTime(1_000);
    clock.restartSilence();
  }
}

const reasonOf = ({ signal }: CallClock) => (signal.reason as Error | undefined)?.message;

test("a call that hangs ends after the limit for silence", () => {
  const clock = new CallClock(60_000);
  clock.start();
  vi.advanceTimersByTime(59_999);
  expect(clock.signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(reasonOf(clock)).toBe("did not answer within 60 s");
});

test("a call that drips progress ends after ten times the limit for silence", () => {
  const clock = new CallClock(5_000);
  clock.start();
  drip(clock, 49);
  expect(clock.signal.aborted).toBe(false);
  drip(clock, 1);
  expect(reasonOf(clock)).toBe("did not finish within 50 s");
});

test("the total time is at most one hour, unless the limit for silence is longer", () => {
  const clock = new CallClock(600_000);
  clock.start();
  drip(clock, 3_600);
  expect(reasonOf(clock)).toBe("did not finish within 3600 s");
  const patient = new CallClock(7_200_000);
  patient.start();
  drip(patient, 7_199);
  expect(patient.signal.aborted).toBe(false);
});

test("both limits stop while the user is asked, and signs of life do not restart them", () => {
  const clock = new CallClock(5_000);
  clock.start();
  drip(clock, 30);
  clock.stop();
  drip(clock, 3_600);
  expect(clock.signal.aborted).toBe(false);
  clock.start();
  drip(clock, 20);
  expect(reasonOf(clock)).toBe("did not finish within 50 s");
});

test("a call that ended is not aborted later", () => {
  const clock = new CallClock(5_000);
  clock.start();
  clock.stop();
  vi.advanceTimersByTime(10_000_000);
  expect(clock.signal.aborted).toBe(false);
});
