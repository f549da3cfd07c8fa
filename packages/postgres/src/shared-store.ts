import { closeSync, openSync, readdirSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { BonsaiError, messageOf } from "@bonsai-agent/messages";
import type { CallLedger, CallState, LedgerCall, SessionStore } from "@bonsai-agent/session";
import { readFrom, writeNewFile } from "@bonsai-agent/session/host";
import type pg from "pg";
import { query } from "./database.ts";
import { SessionDrafts } from "./drafts.ts";
import { connectionOf, HistoryLoader } from "./history-loader.ts";
import type { Lease } from "./lease.ts";
import { storable, wholeLength } from "./lines.ts";
import { type Segment, unpackSegment } from "./segment.ts";
import { Shipper } from "./shipper.ts";
import { type ByteRange, fileName, WorkingCopy, workingCopyPath } from "./working-copy.ts";

interface SharedStoreOptions {
  pool: pg.Pool;
  lease: Lease;
  /** Folder of working copies. */
  folder: string;
  storedBytes: number;
  indexedBytes: number;
  knowsFirstWords: boolean;
  /** Called when the store is closed; the promise settles when everything is stored and the lease is given back. */
  onClose: (closed: Promise<void>) => void;
}

/** Bytes at the end that are loaded at once. A session of this size is loaded as a whole. */
const TAIL_BYTES = 1 << 22;

/** A session that this host writes: a local working copy, whose new lines are stored in the database in the background. */
export class SharedStore implements SessionStore, CallLedger {
  readonly readOnly = undefined;
  readonly ledger: CallLedger = this;
  readonly drafts: SessionDrafts;
  readonly #options: SharedStoreOptions;
  readonly #copy: WorkingCopy;
  readonly #shipper: Shipper;
  #loader: HistoryLoader | undefined;
  #closed: Promise<void> | undefined;

  private constructor(options: SharedStoreOptions, copy: WorkingCopy) {
    this.#options = options;
    this.#copy = copy;
    this.#shipper = new Shipper({ ...options, source: this });
    this.drafts = new SessionDrafts(options, () => this.durable());
    options.lease.onLoss(() => this.#rescue());
  }

  /** @param isWhole true to load the whole session. Default: only its end, older parts when they are read */
  static async open(options: SharedStoreOptions, isWhole = false): Promise<SharedStore> {
    const { pool, lease, folder, storedBytes } = options;
    const copy = new WorkingCopy(
      workingCopyPath({ folder, id: lease.sessionId, fence: lease.fence }),
      storedBytes,
    );
    const canLoadLater = connectionOf(pool) !== undefined;
    const tailFrom = isWhole || !canLoadLater ? 0 : Math.max(0, storedBytes - TAIL_BYTES);
    try {
      // The first segment has the header.
      for await (const { bytes, from } of storedParts(pool, lease.sessionId, [
        { from: 0, until: Math.min(1, storedBytes) },
        { from: tailFrom, until: storedBytes },
      ]))
        copy.fill(bytes, from);
    } catch (error) {
      copy.close();
      copy.delete();
      throw error;
    }
    return new SharedStore(options, copy);
  }

  /** The working copy once it is loaded as a whole: a file with holes is no session file. */
  get file(): string | undefined {
    return this.#copy.isWhole ? this.#copy.path : undefined;
  }

  get fence(): number {
    return this.#options.lease.fence;
  }

  /** Resolves with the error once another host took the session. */
  get lost(): Promise<BonsaiError> {
    return this.#options.lease.lost;
  }

  /** Milliseconds since the last renewal of the lease. */
  get unconfirmedMs(): number {
    return this.#options.lease.unconfirmedMs;
  }

  /** Resolves after `close`, when everything is stored. @throws as `durable` */
  get closed(): Promise<void> {
    return this.#closed ?? Promise.resolve();
  }

  size(): number {
    return this.#copy.size;
  }

  read(target: Uint8Array, offset: number): number {
    const range = { from: offset, until: offset + target.length };
    for (let hole = this.#copy.holeIn(range); hole !== undefined; hole = this.#copy.holeIn(range))
      this.#copy.filled(this.#history().load(within(hole, range)));
    return this.#copy.read(target, offset);
  }

  append(content: string | Buffer): number {
    this.#options.lease.check();
    const length = Buffer.byteLength(content);
    let written = 0;
    try {
      written = this.#copy.append(content);
    } catch (cause) {
      throw appendFailure(this.#copy.path, messageOf(cause), cause);
    }
    if (written < length) throw appendFailure(this.#copy.path, `after ${written} of ${length} bytes`);
    this.#shipper.poke();
    return written;
  }

  /** As `Shipper.storeTornLine`. */
  storeTornLine(): void {
    this.#shipper.storeTornLine();
  }

  flush(): void {
    this.#copy.flush();
  }

  durable(): Promise<void> {
    return this.#shipper.durable();
  }

  note(call: LedgerCall, state: CallState): void {
    this.#options.lease.check();
    this.#shipper.note(call, state);
  }

  async state(id: string): Promise<CallState | undefined> {
    const { pool, lease } = this.#options;
    const [row] = await query<{ state: CallState }>(
      pool,
      "select state from bonsai.calls where session_id = $1 and call_id = $2",
      [lease.sessionId, storable(id)],
    );
    return row?.state;
  }

  /** Stores the rest in the background; see `closed`. */
  close(): void {
    if (this.#closed !== undefined) return;
    this.#closed = this.#close();
    this.#options.onClose(this.#closed);
  }

  async #close(): Promise<void> {
    const { lease } = this.#options;
    let isStored = false;
    try {
      await this.drafts.close();
      await this.#shipper.finish();
      isStored = true;
    } finally {
      this.#loader?.close();
      this.#copy.close();
      // Lines that are not stored stay in the file for the next opening on this host.
      if (isStored) this.#copy.delete();
      await lease.release();
    }
  }

  /** Writes the lines that are not stored to a file beside the working copy. */
  #rescue(): string | undefined {
    const rest = Buffer.alloc(this.size() - this.#shipper.storedBytes);
    this.#copy.read(rest, this.#shipper.storedBytes);
    const { folder, lease } = this.#options;
    const path = saveUnstored({ folder, id: lease.sessionId, fence: lease.fence, lines: rest });
    this.#copy.delete();
    return path;
  }

  #history(): HistoryLoader {
    const { pool, lease } = this.#options;
    this.#loader ??= new HistoryLoader({
      // A pool whose settings no thread can get has loaded everything.
      connection: connectionOf(pool)!,
      sessionId: lease.sessionId,
      file: this.#copy.path,
    });
    return this.#loader;
  }
}

function within(hole: ByteRange, range: ByteRange): ByteRange {
  return { from: Math.max(hole.from, range.from), until: Math.min(hole.until, range.until) };
}

function appendFailure(file: string, detail: string, cause?: unknown): BonsaiError {
  return new BonsaiError({
    code: "append_failed",
    message: `Writing to ${file} failed: ${detail}. The new entries are not part of the session.`,
    hint: "Free disk space or fix the cause, then try again. Earlier entries are safe.",
    cause,
  });
}

/** Bytes of one answer of the database. */
const READ_BYTES = 1 << 22;

/** Reads the segments of ranges, in order. */
export async function* storedParts(
  pool: pg.Pool,
  id: string,
  ranges: readonly ByteRange[],
): AsyncGenerator<{ bytes: Buffer; from: number }> {
  let done = 0;
  for (const { from, until } of ranges)
    for (let at = Math.max(from, done); at < until; at = Math.max(at, done)) {
      const rows = await query<Segment & Record<string, unknown>>(
        pool,
        `select from_byte, to_byte, codec, data from bonsai.segments
         where session_id = $1 and to_byte > $2 and from_byte < $3 order by from_byte`,
        [id, at, Math.min(until, at + READ_BYTES)],
      );
      if (rows.length === 0) throw lostSegments(id, at);
      for (const row of rows) {
        yield { bytes: unpackSegment(row), from: Number(row.from_byte) };
        done = Number(row.to_byte);
      }
    }
}

function lostSegments(id: string, byte: number): BonsaiError {
  return new BonsaiError({
    code: "session_not_found",
    message: `The database lacks the session ${id} from byte ${byte} on. It was deleted meanwhile.`,
    hint: "Run `bonsai session list --database URL` to list the shared sessions.",
  });
}

/** Writes lines that no longer reach the database to a file of their own. Returns its path; undefined without lines. */
function saveUnstored(lost: {
  folder: string;
  id: string;
  fence: number;
  lines: Buffer;
}): string | undefined {
  const lines = lost.lines.subarray(0, wholeLength(lost.lines));
  if (lines.length === 0) return undefined;
  const path = join(lost.folder, `${fileName(lost.id)}.${lost.fence}.unstored.jsonl`);
  const header = { type: "session", version: 3, id: lost.id, timestamp: new Date().toISOString(), cwd: "" };
  rmSync(path, { force: true });
  writeNewFile(path, (fd) => {
    writeSync(fd, `${JSON.stringify(header)}\n`);
    for (let at = 0; at < lines.length; ) at += writeSync(fd, lines, at);
  });
  return path;
}

/**
 * Deletes the working copies of earlier runs on this host that were killed, or quit without the database. Lines that were
 * not stored are saved to files.
 * @param appends true to append them instead, if the store has nothing else after the lines before them
 * @returns the paths of the saved lines
 */
export function saveLeftovers(
  store: SharedStore,
  { folder, id, appends }: { folder: string; id: string; appends: boolean },
): string[] {
  const name = new RegExp(`^${fileName(id).replaceAll(/[^\w-]/g, "\\$&")}\\.(\\d+)\\.jsonl$`);
  return readdirSync(folder).flatMap((file) => {
    const fence = Number(name.exec(file)?.[1]);
    if (!(fence < store.fence)) return [];
    const path = join(folder, file);
    const saved = saveUnstoredOf(path, store, { folder, id, fence, appends });
    rmSync(path, { force: true });
    return saved === undefined ? [] : [saved];
  });
}

function saveUnstoredOf(
  path: string,
  store: SharedStore,
  { appends, ...place }: { folder: string; id: string; fence: number; appends: boolean },
): string | undefined {
  const { lines, continuesStored } = unstoredLines(path, store);
  if (!appends || !continuesStored) return saveUnstored({ ...place, lines });
  store.append(lines.subarray(0, wholeLength(lines)));
  return undefined;
}

/** A killed host had shipped all but its latest lines. */
const COMPARED_BYTES = 1 << 22;
const NEWLINE = 10;

/** The end of a working copy from the first line that the stored session has otherwise, or not at all. */
function unstoredLines(path: string, store: SharedStore): { lines: Buffer; continuesStored: boolean } {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const from = Math.max(0, Math.min(size, store.size()) - COMPARED_BYTES);
  const left = Buffer.alloc(size - from);
  const fd = openSync(path, "r");
  readFrom(fd, left, from);
  closeSync(fd);
  const stored = Buffer.alloc(Math.max(0, Math.min(left.length, store.size() - from)));
  store.read(stored, from);
  let at = 0;
  // A hole of the working copy is read as zeros.
  while (at < stored.length && (left[at] === stored[at] || left[at] === 0)) at += 1;
  if (at === left.length) return { lines: left.subarray(at), continuesStored: false };
  const start = left.lastIndexOf(NEWLINE, at - 1) + 1;
  return { lines: left.subarray(start), continuesStored: from + start === store.size() };
}
