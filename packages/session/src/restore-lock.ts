import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";

/** Longer than a session of a day takes to be written again; nobody should wait longer for a key to be taken. */
const MOST_WAIT_MS = 2_000;
const STEP_MS = 5;
/** Whoever holds it for so long is gone, on whatever machine it was. */
const LEFT_BEHIND_MS = 60_000;

/**
 * Does work on a file that has lost entries while no other process does: two that write again what both know would write
 * it twice, and of two that put another file in its place, one would lose what it wrote. A file beside it says who is at
 * work; what a killed process left of that is cleared away.
 *
 * Where no such file can be made, or somebody takes too long, the work is done all the same: what is written twice does
 * less harm than what is lost.
 */
export function restoringAlone<Value>(file: string | undefined, work: () => Value): Value {
  const lock = file === undefined ? undefined : `${file}.restoring`;
  const isHeld = lock !== undefined && take(lock);
  try {
    return work();
  } finally {
    if (isHeld) rmSync(lock, { force: true });
  }
}

function take(lock: string): boolean {
  for (let waitedMs = 0; ; waitedMs += STEP_MS) {
    try {
      writeFileSync(lock, `${process.pid} ${hostname()}`, { flag: "wx", mode: 0o600 });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || waitedMs >= MOST_WAIT_MS) return false;
    }
    if (isLeftBehind(lock)) rmSync(lock, { force: true });
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STEP_MS);
  }
}

function isLeftBehind(lock: string): boolean {
  try {
    const [, pid, host] = /^(\d+) (.*)$/.exec(readFileSync(lock, "utf8")) ?? [];
    if (host === hostname() && !isAlive(Number(pid))) return true;
    return Date.now() - statSync(lock).mtimeMs > LEFT_BEHIND_MS;
  } catch {
    // It was removed in this moment.
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It is there, and another user's.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
