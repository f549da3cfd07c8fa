import { randomUUID } from "node:crypto";
import { closeSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import { BonsaiError } from "@bonsai-agent/messages";

/** Who holds a lock, since when; `at` in milliseconds since the epoch. */
interface LockOwner {
  token: string;
  pid: number;
  host: string;
  at: number;
}

/** What is done under a lock, and for how long at most. */
export interface LockOptions {
  /** The file that stands for the lock. */
  path: string;
  /** Milliseconds: longer than any owner needs. An older lock is taken for one that was left behind. */
  staleMs: number;
  /** Milliseconds to wait for another owner. */
  waitMs: number;
}

/** Milliseconds between two looks at a lock that another holds. */
const POLL_MS = 25;

/**
 * Runs the work while no other process runs some under the same lock; the thread waits, so it must be short.
 * @throws BonsaiError `keys_locked` where another holds it for too long, `keys_unwritable`, and what the work throws
 */
export function lockedSync<Result>(options: LockOptions, work: () => Result): Result {
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  const endsMs = performance.now() + options.waitMs;
  let release = tryLock(options);
  while (release === undefined) {
    if (performance.now() > endsMs) throw tooLong(options);
    Atomics.wait(sleeper, 0, 0, POLL_MS);
    release = tryLock(options);
  }
  try {
    return work();
  } finally {
    release();
  }
}

/** As `lockedSync`, for work that takes its time. @throws as it, and the signal's reason after an abort while it waits */
export async function locked<Result>(
  options: LockOptions & { signal?: AbortSignal | undefined },
  work: () => Promise<Result>,
): Promise<Result> {
  const { signal, waitMs } = options;
  const endsMs = performance.now() + waitMs;
  let release = tryLock(options);
  while (release === undefined) {
    if (performance.now() > endsMs) throw tooLong(options);
    await wait(POLL_MS, undefined, { signal }).catch(() => signal?.throwIfAborted());
    release = tryLock(options);
  }
  try {
    return await work();
  } finally {
    release();
  }
}

/** @returns what gives the lock back; undefined where another holds it */
function tryLock({ path, staleMs }: LockOptions): (() => void) | undefined {
  const owner: LockOwner = { token: randomUUID(), pid: process.pid, host: hostname(), at: Date.now() };
  if (!isLeftBehind(path, staleMs) || breakLock(path, staleMs)) {
    if (!created(path, owner)) return undefined;
    return () => {
      // Whoever took it for left behind has it now.
      if (ownerOf(path)?.token === owner.token) rmSync(path, { force: true });
    };
  }
  return undefined;
}

/**
 * Takes a lock away that was left behind. Two that find the same one at once must not both do so, for the second would
 * take away the lock that the first has made since: only who holds the guard looks once more, and takes it away.
 * @returns whether the lock is free to be taken
 */
function breakLock(path: string, staleMs: number): boolean {
  const guard = `${path}.break`;
  const owner: LockOwner = { token: randomUUID(), pid: process.pid, host: hostname(), at: Date.now() };
  if (!created(guard, owner)) {
    // Its holder died in the few microseconds that it is needed for.
    if (isLeftBehind(guard, staleMs)) rmSync(guard, { force: true });
    return false;
  }
  try {
    if (isLeftBehind(path, staleMs)) rmSync(path, { force: true });
    return true;
  } finally {
    rmSync(guard, { force: true });
  }
}

function created(path: string, owner: LockOwner): boolean {
  let file: number;
  try {
    file = openSync(path, "wx", 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw unwritable(path, error);
  }
  try {
    writeFileSync(file, JSON.stringify(owner));
    return true;
  } catch (error) {
    // On a full disk: an empty file would be taken for a lock until it is stale.
    discard(path);
    throw unwritable(path, error);
  } finally {
    closeSync(file);
  }
}

/** Takes what is left of a failed write away; where that fails too, the first failure says why. */
export function discard(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // See above.
  }
}

/** The error for a key file that cannot be written. */
export function unwritable(path: string, cause: unknown): BonsaiError {
  return new BonsaiError({
    code: "keys_unwritable",
    message: `Cannot write ${path}: ${(cause as Error).message}.`,
    hint: "Bonsai stores keys and logins in that folder. Free disk space, or make the folder writable.",
    cause,
  });
}

function isLeftBehind(path: string, staleMs: number): boolean {
  const owner = ownerOf(path);
  if (owner !== undefined && owner.host === hostname() && !isAlive(owner.pid)) return true;
  const at = owner?.at ?? writtenAt(path);
  // A clock that was set back makes a lock come from the future.
  return at !== undefined && Math.abs(Date.now() - at) > staleMs;
}

/** Undefined where there is no lock, or its owner is still writing who it is. */
function ownerOf(path: string): LockOwner | undefined {
  try {
    const { token, pid, host, at } = JSON.parse(readFileSync(path, "utf8"));
    return Number.isInteger(pid) && pid > 0 && Number.isFinite(at) ? { token, pid, host, at } : undefined;
  } catch {
    return undefined;
  }
}

function writtenAt(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // One of another user is there all the same.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

function tooLong({ path, waitMs }: LockOptions): BonsaiError {
  const pid = ownerOf(path)?.pid;
  return new BonsaiError({
    code: "keys_locked",
    message: `${pid === undefined ? "Another process" : `Process ${pid}`} has held the lock ${path} for more than ${Math.ceil(waitMs / 1000)} s.`,
    hint: "Try again. If no other bonsai is running, delete that file.",
  });
}
