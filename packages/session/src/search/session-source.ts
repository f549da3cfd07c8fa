import { closeSync, fstatSync, openSync, type Stats, statSync } from "node:fs";
import { readHeader } from "../read/session-header.ts";
import { readFrom, refusePipe } from "../store/jsonl-store.ts";
import { type LineSource, readBytes } from "../store/line-reader.ts";
import { EntryLines, type FilePosition } from "./entry-lines.ts";

/** Identifies a session file, so that a replacement under the same name is detected. */
interface FileMark {
  inode: string;
  /** When it was looked at. */
  size: number;
  modified_ms: number;
  /** Fingerprint of the bytes read so far. */
  fingerprint: string;
}

/** A session file that is only read. Opened at the first need, and to be closed. */
export class SessionSource implements LineSource {
  readonly file: string;
  #fd = -1;
  #version: number | undefined;
  #cwd = "";

  constructor(file: string) {
    this.file = file;
  }

  /** How many bytes it has now. @throws what the file system throws */
  size(): number {
    return fstatSync(this.#open()).size;
  }

  /** True where there is something behind what was read, or it cannot be said: who reads it says why. */
  hasMore(read: FilePosition | undefined): boolean {
    try {
      return statSync(this.file).size > (read?.offset ?? -1);
    } catch {
      return true;
    }
  }

  read(target: Uint8Array, offset: number): number {
    return readFrom(this.#open(), target, offset);
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }

  /** The version of the format. @throws BonsaiError `session_empty`, `not_a_session` */
  version(): number {
    this.#version ??= this.#readHeader();
    return this.#version;
  }

  /** The working folder that it belongs to; empty where it names none. @throws as `version` */
  cwd(): string {
    this.version();
    return this.#cwd;
  }

  /** @throws as `version` */
  lines(): EntryLines {
    return new EntryLines({ source: this, version: this.version() });
  }

  /** @throws what the file system throws */
  mark({ offset }: FilePosition): FileMark {
    const stats = fstatSync(this.#open());
    return {
      inode: inodeOf(stats),
      size: stats.size,
      modified_ms: stats.mtimeMs,
      fingerprint: fingerprintOf(this, offset),
    };
  }

  /** True where what was read up to there stands in the file still. */
  holds(mark: FileMark & FilePosition): boolean {
    try {
      const stats = statSync(this.file);
      if (inodeOf(stats) !== mark.inode || stats.size < mark.size) return false;
      if (stats.size === mark.size) return stats.mtimeMs === mark.modified_ms;
      return fingerprintOf(this, mark.offset) === mark.fingerprint;
    } catch {
      // The next reader of the file reports the error.
      return false;
    }
  }

  #open(): number {
    if (this.#fd < 0) {
      refusePipe(this.file);
      this.#fd = openSync(this.file, "r");
    }
    return this.#fd;
  }

  #readHeader(): number {
    const { header, version } = readHeader(this);
    this.#cwd = header.cwd;
    return version;
  }
}

function inodeOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

const SAMPLES = 8;
const SAMPLE_BYTES = 1024;

/** Fingerprint of a file up to a byte, made of samples that include the first and the last bytes. */
function fingerprintOf(source: LineSource, until: number): string {
  let [one, other] = [0x811c9dc5, 0x01000193];
  const room = Math.max(0, until - SAMPLE_BYTES);
  for (let sample = 0; sample <= SAMPLES; sample += 1) {
    const offset = Math.floor((room * sample) / SAMPLES);
    for (const byte of readBytes(source, { offset, lengthBytes: Math.min(SAMPLE_BYTES, until - offset) })) {
      one = Math.imul(one ^ byte, 0x01000193);
      other = Math.imul(other + byte, 0x85ebca6b) ^ (other >>> 15);
    }
  }
  return `${until}-${(one >>> 0).toString(16)}-${(other >>> 0).toString(16)}`;
}
