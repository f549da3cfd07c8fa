import type { CallState, LedgerCall } from "@bonsai-agent/session";
import type pg from "pg";
import { query, retry, transaction } from "./database.ts";
import type { Lease } from "./lease.ts";
import { listedFacts, storable, textRows, wholeLength } from "./lines.ts";
import { packSegment } from "./segment.ts";

/** Bytes of one statement, unless a line is longer. */
const MAX_SHIPPED_BYTES = 1 << 20;
/** Small segments are joined at this size: they compress better together. */
const SEALED_BYTES = 1 << 18;
/** Texts are indexed at this size, or after a pause. */
const INDEXED_BYTES = 1 << 18;
const PAUSE_MS = 2_000;

export interface ShipperOptions {
  pool: pg.Pool;
  lease: Lease;
  /** The bytes of the working copy. */
  source: { size(): number; read(target: Uint8Array, offset: number): number };
  /** Bytes that the database has, and those whose texts it has. */
  storedBytes: number;
  indexedBytes: number;
  knowsFirstWords: boolean;
}

/**
 * Stores appended lines and the steps of calls in the database, in order, one statement at a time.
 *
 * Invariant: the stored bytes are a prefix of the working copy, and no statement stores anything once another host has a
 * newer fence.
 */
export class Shipper {
  readonly #options: ShipperOptions;
  #storedBytes: number;
  #indexedBytes: number;
  /** Offset of the first segment that is still to be joined. Only segments of this lease are. */
  #sealedBytes: number;
  #pieces = 0;
  #knowsFirstWords: boolean;
  #notes = new Map<string, LedgerCall & { state: CallState }>();
  #shipsTornLine = false;
  #running: Promise<void> | undefined;
  #pause: NodeJS.Timeout | undefined;

  constructor(options: ShipperOptions) {
    this.#options = options;
    this.#storedBytes = options.storedBytes;
    this.#indexedBytes = options.indexedBytes;
    this.#sealedBytes = options.storedBytes;
    this.#knowsFirstWords = options.knowsFirstWords;
  }

  get storedBytes(): number {
    return this.#storedBytes;
  }

  /** Notes the step of a call. It is stored with the next lines, in one transaction. */
  note(call: LedgerCall, state: CallState): void {
    const id = storable(call.id);
    this.#notes.set(id, { ...call, id, state });
    this.poke();
  }

  /** Stores the last line also without its newline: a copied file stays as it is. */
  storeTornLine(): void {
    this.#shipsTornLine = true;
  }

  /** Stores new lines soon. Failures are repeated, or reported by the next `durable`. */
  poke(): void {
    if (this.#running === undefined) setImmediate(() => void this.#run().catch(() => {}));
  }

  /** Resolves when everything appended and noted before is stored, and the lease was valid then. @throws as `Lease.check` */
  async durable(): Promise<void> {
    const { lease, source } = this.#options;
    const bytes = source.size();
    const notes = [...this.#notes.values()];
    const isStored = () =>
      this.#storedBytes >= bytes && notes.every((note) => this.#notes.get(note.id) !== note);
    while (!isStored()) {
      const before = this.#storedBytes;
      await this.#run();
      // The rest is a torn line, which the next append seals.
      if (!isStored() && this.#storedBytes === before && !this.#hasWork()) break;
    }
    await lease.confirm();
  }

  /** Stores the rest, the searched texts and joined segments. @throws as `durable` */
  async finish(): Promise<void> {
    clearTimeout(this.#pause);
    await this.durable();
    await this.#run();
    await this.#maintain({ isLast: true });
    clearTimeout(this.#pause);
  }

  #hasWork(): boolean {
    return this.#notes.size > 0 || this.#nextLines().length > 0;
  }

  /** One run at a time; callers during a run share it. */
  #run(): Promise<void> {
    this.#running ??= this.#ship().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #ship(): Promise<void> {
    while (this.#hasWork())
      await retry(async () => {
        this.#options.lease.check();
        await this.#shipOnce();
        if (this.#storedBytes - this.#indexedBytes >= INDEXED_BYTES) await this.#maintain({ isLast: false });
      });
    clearTimeout(this.#pause);
    if (this.#indexedBytes === this.#storedBytes) return;
    this.#pause = setTimeout(() => void this.#maintain({ isLast: false }).catch(() => {}), PAUSE_MS);
    this.#pause.unref();
  }

  /** The next whole lines; empty if there are none. */
  #nextLines(): Buffer {
    const { source } = this.#options;
    const from = this.#storedBytes;
    const size = source.size();
    for (let limit = MAX_SHIPPED_BYTES; from < size; limit *= 2) {
      const until = Math.min(size, from + limit);
      const read = Buffer.allocUnsafe(until - from);
      const bytes = read.subarray(0, source.read(read, from));
      const length = wholeLength(bytes);
      if (length > 0) return bytes.subarray(0, length);
      if (until === size && this.#shipsTornLine) return bytes;
      if (until === size) break;
    }
    return Buffer.alloc(0);
  }

  /** One statement, so that it is stored as a whole or not at all. */
  async #shipOnce(): Promise<void> {
    const { pool, lease } = this.#options;
    const bytes = this.#nextLines();
    const from = this.#storedBytes;
    const until = from + bytes.length;
    const facts = listedFacts(bytes, this.#knowsFirstWords);
    const notes = [...this.#notes.values()];
    const { codec, data } = packSegment(bytes);
    const sentMs = performance.now();
    const values = [
      ...[lease.sessionId, lease.fence, from, until, codec, data, facts.lines],
      ...[facts.name !== undefined, facts.name ?? null, facts.firstWords ?? null, lease.leaseMs],
    ];
    const steps = notes.map(({ id, tool, ...note }) => ({ ...note, call_id: id, tool: storable(tool) }));
    const rows =
      steps.length === 0
        ? await query(pool, SHIP, values, "bonsai_ship")
        : await query(pool, SHIP_WITH_STEPS, [...values, JSON.stringify(steps)], "bonsai_ship_with_steps");
    if (rows.length === 0) return this.#readStored();
    lease.renewed(sentMs);
    this.#storedBytes = until;
    this.#pieces += 1;
    this.#knowsFirstWords ||= facts.firstWords !== undefined;
    for (const note of notes) if (this.#notes.get(note.id) === note) this.#notes.delete(note.id);
  }

  /** After a lost connection, the statement may have been stored. @throws BonsaiError `session_lease_lost` */
  async #readStored(): Promise<void> {
    const { pool, lease } = this.#options;
    const [row] = await query<{ fence: string; bytes: string }>(
      pool,
      "select fence, bytes from bonsai.sessions where id = $1",
      [lease.sessionId],
    );
    if (row === undefined || Number(row.fence) !== lease.fence) lease.lose();
    else this.#storedBytes = Number(row.bytes);
  }

  /** Stores the searched texts and joins small segments. A killed host leaves both to the next one. */
  async #maintain({ isLast }: { isLast: boolean }): Promise<void> {
    while (this.#indexedBytes < this.#storedBytes) await this.#indexTexts();
    const bytes = this.#storedBytes - this.#sealedBytes;
    if (this.#pieces > 1 && (bytes >= SEALED_BYTES || isLast)) await this.#joinSegments();
  }

  async #indexTexts(): Promise<void> {
    const { pool, lease, source } = this.#options;
    const from = this.#indexedBytes;
    const until = Math.min(this.#storedBytes, from + MAX_SHIPPED_BYTES);
    let bytes = Buffer.allocUnsafe(until - from);
    source.read(bytes, from);
    // A longer line is not searched.
    bytes = bytes.subarray(0, wholeLength(bytes) || bytes.length);
    const rows = JSON.stringify(textRows(bytes, from));
    await query(pool, INDEX, [lease.sessionId, lease.fence, from + bytes.length, rows]);
    this.#indexedBytes = from + bytes.length;
  }

  async #joinSegments(): Promise<void> {
    const { pool, lease, source } = this.#options;
    const [from, until] = [this.#sealedBytes, this.#storedBytes];
    const bytes = Buffer.allocUnsafe(until - from);
    source.read(bytes, from);
    const { codec, data } = packSegment(bytes);
    await transaction(pool, async (connection) => {
      const values = [lease.sessionId, lease.fence];
      const [row] = await query(
        connection,
        "select 1 from bonsai.sessions where id = $1 and fence = $2 for update",
        values,
      );
      if (row === undefined) lease.lose();
      await query(
        connection,
        "delete from bonsai.segments where session_id = $1 and from_byte >= $2 and from_byte < $3",
        [lease.sessionId, from, until],
      );
      await query(
        connection,
        "insert into bonsai.segments (session_id, fence, from_byte, to_byte, codec, data) values ($1, $2, $3, $4, $5, $6)",
        [...values, from, until, codec, data],
      );
    });
    this.#pieces = 1;
    if (until - from < SEALED_BYTES) return;
    this.#pieces = 0;
    this.#sealedBytes = until;
  }
}

/**
 * Stores lines if the fence is current. The update locks the session's row and reads its newest version, also if it had to
 * wait for the lock; everything else depends on the row that it returns.
 */
const LOCK_AND_STORE = `
with locked as (
  update bonsai.sessions set
    bytes = $4, lines = lines + $7,
    name = case when $8 then $9 else name end,
    first_words = coalesce(first_words, $10),
    lease_until = clock_timestamp() + $11 * interval '1 millisecond',
    last_activity_at = case when last_activity_at < clock_timestamp() - interval '1 minute'
      then clock_timestamp() else last_activity_at end
  where id = $1 and fence = $2 and bytes = $3
  returning id, coalesce(watched_until > clock_timestamp(), false) as watched
), stored as (
  insert into bonsai.segments (session_id, fence, from_byte, to_byte, codec, data)
  select id, $2::bigint, $3::bigint, $4::bigint, $5, $6::bytea from locked where $4::bigint > $3::bigint
)`;

const NOTIFY = "select watched, case when watched then pg_notify('bonsai', id) end from locked";

const SHIP = `${LOCK_AND_STORE} ${NOTIFY}`;

/** Most lines come without steps of calls: the shorter statement takes three quarters of the time. */
const SHIP_WITH_STEPS = `${LOCK_AND_STORE}, noted as (
  insert into bonsai.calls (session_id, call_id, tool, effects, state, fence)
  select locked.id, c.call_id, c.tool, c.effects, c.state, $2::bigint
  from locked, jsonb_to_recordset($12::jsonb) as c(call_id text, tool text, effects text, state text)
  on conflict (session_id, call_id) do update
    set state = excluded.state, fence = excluded.fence, changed_at = clock_timestamp()
) ${NOTIFY}`;

const INDEX = `
with locked as (
  update bonsai.sessions set indexed_bytes = $3 where id = $1 and fence = $2 returning id
)
insert into bonsai.texts (session_id, from_byte, entry_id, type, role, at, body)
select locked.id, t.from_byte, t.entry_id, t.type, t.role, t.at, t.body
from locked, jsonb_to_recordset($4::jsonb)
  as t(from_byte bigint, entry_id text, type text, role text, at timestamptz, body text)
on conflict do nothing`;
