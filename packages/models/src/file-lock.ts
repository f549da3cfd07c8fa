import { randomUUID } from "node:crypto";
import { closeSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import { BonsaiError } from "@bonsai-agent/messages";

interface LockOwner {
  token: string;
  pid: number;
  host: string;
  at: number;
}

/** A lock and its limits. */
export interface LockOptions {
  /** The lock file. */
  path: string;
  /** Milliseconds, longer than the work takes. An older lock is stale. */
  staleMs: number;
  /** Milliseconds to wait for another process. */
  waitMs: number;
}

const POLL_MS = 25;

/**
 * Runs short work under a lock between processes. Blocks the thread.
 * @throws BonsaiError `keys_locked` if another process keeps the lock for too long, `keys_unwritable`; what the work throws
 */
export function lockedSync<Result>(options: LockOptions, work: () => Result): Result {
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  const lock = new Lock(options);
  while (!lock.take()) Atomics.wait(sleeper, 0, 0, POLL_MS);
  try {
    return work();
  } finally {
    lock.release();
  }
}

/** As `lockedSync`, without blocking the thread. @throws as it; the signal's reason after an abort during the wait */
export async function locked<Result>(
  options: LockOptions & { signal?: AbortSignal | undefined },
  work: () => Promise<Result>,
): Promise<Result> {
  const { signal } = options;
  const lock = new Lock(options);
  while (!lock.take()) await wait(POLL_MS, undefined, { signal }).catch(() => signal?.throwIfAborted());
  try {
    return await work();
  } finally {
    lock.release();
  }
}

class Lock {
  readonly #options: LockOptions;
  readonly #token = randomUUID();
  readonly #endsMs: number;

  constructor(options: LockOptions) {
    this.#options = options;
    this.#endsMs = performance.now() + options.waitMs;
  }

  /** Returns false if another process has the lock. @throws BonsaiError `keys_locked`, `keys_unwritable` */
  take(): boolean {
    const { path, staleMs } = this.#options;
    const isFree = !isStale(path, staleMs) || breakLock(path, staleMs);
    if (isFree && created(path, this.#token)) return true;
    if (performance.now() > this.#endsMs) throw tooLong(this.#options);
    return false;
  }

  release(): void {
    // Another process may have found it stale and taken it.
    if (ownerOf(this.#options.path)?.token === this.#token) rmSync(this.#options.path, { force: true });
  }
}

/**
 * Removes a stale lock. If two processes find it at once, the second must not remove the lock that the first has made
 * since: only the owner of the guard checks again and removes it.
 * @returns true if the lock is free
 */
function breakLock(path: string, staleMs: number): boolean {
  const guard = `${path}.break`;
  if (!created(guard, randomUUID())) {
    // Its owner died within microseconds.
    if (isStale(guard, staleMs)) rmSync(guard, { force: true });
    return false;
  }
  try {
    if (isStale(path, staleMs)) rmSync(path, { force: true });
    return true;
  } finally {
    rmSync(guard, { force: true });
  }
}

function created(path: string, token: string): boolean {
  const owner: LockOwner = { token, pid: process.pid, host: hostname(), at: Date.now() };
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
    // On a full disk, an empty file would count as a lock until it is stale.
    discard(path);
    throw unwritable(path, error);
  } finally {
    closeSync(file);
  }
}

/** Removes the remains of a failed write. The error of the write counts if this fails too. */
export function discard(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The error of the write counts.
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

function isStale(path: string, staleMs: number): boolean {
  const owner = ownerOf(path);
  if (owner !== undefined && owner.host === hostname() && !isAlive(owner.pid)) return true;
  const at = owner?.at ?? statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  // After the clock was set back, a lock comes from the future.
  return at !== undefined && Math.abs(Date.now() - at) > staleMs;
}

/** Undefined if there is no lock, or its owner is still writing it. */
function ownerOf(path: string): LockOwner | undefined {
  try {
    const { token, pid, host, at } = JSON.parse(readFileSync(path, "utf8"));
    return Number.isInteger(pid) && pid > 0 && Number.isFinite(at) ? { token, pid, host, at } : undefined;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Without permission, the process exists.
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
