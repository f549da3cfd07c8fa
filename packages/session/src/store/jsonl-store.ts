import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  openSync,
  readSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { resolve } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { writeFirstFree, writeNewFile } from "./new-file.ts";
import { readOnlyFailure, type SessionStore } from "./store.ts";

const { O_APPEND, O_RDONLY, O_RDWR } = constants;

/** A session in a file of JSON lines. Opening one writes nothing. */
export class JsonlStore implements SessionStore {
  readonly readOnly: string | undefined;
  #file: string;
  #fd: number;

  private constructor(file: string, fd: number, readOnly: string | undefined) {
    this.#file = file;
    this.#fd = fd;
    this.readOnly = readOnly;
  }

  /**
   * Opens a file that exists; for reading only where the file system allows no more.
   * @throws BonsaiError `session_not_found`, `session_unreadable`.
   */
  static open(path: string): JsonlStore {
    const file = resolve(path);
    refusePipe(file);
    try {
      return new JsonlStore(file, openSync(file, O_RDWR | O_APPEND), undefined);
    } catch (cause) {
      if (!refusesWriting(cause)) throw openFailure(file, cause);
      try {
        const fd = openSync(file, O_RDONLY);
        return new JsonlStore(file, fd, `Cannot write to ${file} (${codeOf(cause)}).`);
      } catch (readCause) {
        throw openFailure(file, readCause);
      }
    }
  }

  /**
   * Makes a new file, mode 0600, which appears with its first text in it.
   * @throws BonsaiError `session_exists`, `session_not_created`.
   */
  static create(path: string, text: string): JsonlStore {
    const file = resolve(path);
    writeNewFile(file, (fd) => writeFileSync(fd, text));
    return JsonlStore.open(file);
  }

  /** Changes with `continueInCopy`. */
  get file(): string {
    return this.#file;
  }

  size(): number {
    return fstatSync(this.#open()).size;
  }

  read(target: Uint8Array, offset: number): number {
    return readFrom(this.#open(), target, offset);
  }

  append(text: string): number {
    if (this.readOnly !== undefined) throw readOnlyFailure(this.readOnly);
    const length = Buffer.byteLength(text);
    let written: number;
    try {
      written = writeSync(this.#open(), text);
    } catch (cause) {
      throw appendFailure(this.file, `(${codeOf(cause)})`, cause);
    }
    // No second write for the rest: another process's line could come between the two.
    if (written < length) throw appendFailure(this.file, `after ${written} of ${length} bytes`);
    return written;
  }

  flush(): void {
    fdatasyncSync(this.#open());
  }

  isGone(): boolean {
    const own = fstatSync(this.#open());
    try {
      const there = statSync(this.#file);
      return there.ino !== own.ino || there.dev !== own.dev;
    } catch {
      // A moved file still has a name.
      return own.nlink === 0;
    }
  }

  continueInCopy(write: (fd: number) => void): void {
    const stem = this.#file.replace(/(\.restored\d*)?\.jsonl$/, "");
    const nameOf = (number: number) => `${stem}.restored${number === 1 ? "" : number}.jsonl`;
    const file = writeFirstFree(nameOf, write);
    const fd = openSync(file, O_RDWR | O_APPEND);
    closeSync(this.#open());
    this.#fd = fd;
    this.#file = file;
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }

  #open(): number {
    if (this.#fd >= 0) return this.#fd;
    throw new BonsaiError({
      code: "session_closed",
      message: `The session ${this.file} is closed.`,
      hint: "Open it again.",
    });
  }
}

/** As `SessionStore.read`, of an open file. */
export function readFrom(fd: number, target: Uint8Array, offset: number): number {
  let done = 0;
  while (done < target.length) {
    const count = readSync(fd, target, done, target.length - done, offset + done);
    if (count === 0) break;
    done += count;
  }
  return done;
}

/** Refuses pipes and terminals: a read would wait for a writer. @throws BonsaiError `session_unreadable` */
export function refusePipe(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined || stats.isFile() || stats.isDirectory()) return;
  throw openFailure(file, "it is a pipe or a device, not a file");
}

function codeOf(cause: unknown): string {
  return String((cause as NodeJS.ErrnoException).code ?? cause);
}

function refusesWriting(cause: unknown): boolean {
  return ["EACCES", "EPERM", "EROFS", "ETXTBSY"].includes(codeOf(cause));
}

function openFailure(file: string, cause: unknown): BonsaiError {
  if (codeOf(cause) === "ENOENT")
    return new BonsaiError({
      code: "session_not_found",
      message: `${file} does not exist.`,
      hint: "Run `bonsai session list` to list sessions.",
      cause,
    });
  return new BonsaiError({
    code: "session_unreadable",
    message: `Cannot open ${file} (${codeOf(cause)}).`,
    hint: "Give the path of a session file that you can read.",
    cause,
  });
}

function appendFailure(file: string, detail: string, cause?: unknown): BonsaiError {
  return new BonsaiError({
    code: "append_failed",
    message: `Writing to ${file} failed ${detail}. The new entries are not part of the session.`,
    hint: "Free disk space or fix the cause, then try again. Earlier entries are safe.",
    cause,
  });
}
