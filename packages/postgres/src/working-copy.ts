import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { BonsaiError, messageOf } from "@bonsai-agent/messages";
import { makeFolder, readFrom } from "@bonsai-agent/session/host";
import type { ByteRange } from "./segment.ts";

/**
 * The local file of a session that is open for writing. It has the size of the whole session from the start, but only the
 * loaded bytes: the rest are holes until somebody reads them.
 */
export class WorkingCopy {
  readonly path: string;
  readonly #fd: number;
  #size: number;
  /** In order, without overlaps. */
  #holes: ByteRange[];

  /** @param size bytes that the database has. @throws BonsaiError `session_not_created` */
  constructor(path: string, size: number) {
    this.path = path;
    this.#size = size;
    this.#holes = size === 0 ? [] : [{ from: 0, until: size }];
    try {
      // No O_APPEND: loaded bytes are written into the holes.
      this.#fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
      ftruncateSync(this.#fd, size);
    } catch (cause) {
      throw new BonsaiError({
        code: "session_not_created",
        message: `Cannot write ${path}: ${messageOf(cause)}`,
        hint: "Check that the folder is writable and the disk has space.",
        cause,
      });
    }
  }

  get size(): number {
    return this.#size;
  }

  /** True if every byte is loaded: then the file is an ordinary session file. */
  get isWhole(): boolean {
    return this.#holes.length === 0;
  }

  /** The first hole in a range. */
  holeIn({ from, until }: ByteRange): ByteRange | undefined {
    return this.#holes.find((hole) => hole.from < until && hole.until > from);
  }

  /** Writes loaded bytes. */
  fill(bytes: Buffer, from: number): void {
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#fd, bytes, at, bytes.length - at, from + at);
    this.filled({ from, until: from + bytes.length });
  }

  /** Notes that a range is loaded. */
  filled(loaded: ByteRange): void {
    this.#holes = this.#holes.flatMap(({ from, until }) =>
      [
        { from, until: Math.min(until, loaded.from) },
        { from: Math.max(from, loaded.until), until },
      ].filter((rest) => rest.from < rest.until),
    );
  }

  /** Reads bytes, those of holes as zeros. */
  read(target: Uint8Array, offset: number): number {
    return readFrom(this.#fd, target, offset);
  }

  /** @returns how many bytes were written: fewer on a full disk. @throws what the file system throws */
  append(content: string | Buffer): number {
    const bytes = Buffer.from(content as string);
    try {
      return writeSync(this.#fd, bytes, 0, bytes.length, this.#size);
    } finally {
      this.#size = fstatSync(this.#fd).size;
    }
  }

  /** Returns once the file survives a loss of power. */
  flush(): void {
    fdatasyncSync(this.#fd);
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** Deletes the file after `close`. */
  delete(): void {
    rmSync(this.path, { force: true });
  }
}

/** The path of a working copy: no two hosts that share a folder have the same fence. */
export function workingCopyPath(folder: string, id: string, fence: number): string {
  makeFolder(folder);
  return join(folder, `${fileName(id)}.${fence}.jsonl`);
}

/** An id comes from a session's header, which anybody can write. */
export function fileName(id: string): string {
  return encodeURIComponent(id).replaceAll(/\.|%/g, "_").slice(0, 150);
}
