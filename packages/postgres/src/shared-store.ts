import { BonsaiError, messageOf } from "@bonsai-agent/messages";
import type { CallLedger, CallState, LedgerCall, SessionStore } from "@bonsai-agent/session";
import { query } from "./database.ts";
import { SessionDrafts } from "./drafts.ts";
import { connectionForThread, HistoryLoader } from "./history-loader.ts";
import { saveUnstored } from "./leftovers.ts";
import { storable } from "./lines.ts";
import { type ByteRange, storedParts } from "./segment.ts";
import { Shipper, type ShipperOptions } from "./shipper.ts";
import { WorkingCopy, workingCopyPath } from "./working-copy.ts";

interface SharedStoreOptions extends Omit<ShipperOptions, "source"> {
  /** Folder of working copies. */
  folder: string;
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
    const copy = new WorkingCopy(workingCopyPath(folder, lease.sessionId, lease.fence), storedBytes);
    const canLoadLater = connectionForThread(pool) !== undefined;
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
    this.drafts.leave();
    const rest = Buffer.alloc(this.size() - this.#shipper.storedBytes);
    this.#copy.read(rest, this.#shipper.storedBytes);
    const path = saveUnstored(rest, this.#options.lease.sessionId, this.#copy.path);
    this.#copy.delete();
    return path;
  }

  #history(): HistoryLoader {
    const { pool, lease } = this.#options;
    this.#loader ??= new HistoryLoader({
      // A pool whose settings no thread can get has loaded everything.
      connection: connectionForThread(pool)!,
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
