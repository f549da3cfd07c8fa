import { callsIn, costText, knownUsd, SecretFilter, type ToolResultMessage } from "@bonsai-agent/messages";
import { lineText } from "@bonsai-agent/messages/numbers";
import {
  type Entry,
  SESSION_VERSION,
  type Session,
  type SessionHeader,
  UsageCounter,
} from "@bonsai-agent/session";
import { importedFrom } from "@bonsai-agent/transcripts";
import { type AskedCall, entryBody } from "./bodies.ts";
import { comparedEnds, compareWithHere } from "./compare.ts";
import {
  type ChunkPlace,
  type Comparison,
  type EntryBody,
  type PageData,
  type PageRows,
  rowKinds,
} from "./page-data.ts";
import { Redaction } from "./redaction.ts";
import { CompactionRows, type RequestOptions, RequestRows } from "./requests.ts";
import { addRow, emptyRows, PREVIEW_CHARS } from "./rows.ts";
import { type OpenedSession, summaryBody, tokensAfter } from "./summaries.ts";

export interface PageOptions extends RequestOptions {
  /** Replaces secrets. Default: true */
  redact?: boolean | undefined;
  /** Stored keys, which are redacted too. Default: none */
  secrets?: readonly string[] | undefined;
  /** True for a `provider/model` that is known to be free. Default: none */
  isFree?: ((model: string) => boolean) | undefined;
  /** The program that wrote the session. Default: the program that the session itself names, if any. */
  program?: string | undefined;
}

const CHUNK_ROWS = 64;
/** Bytes in the file. A larger entry has its own chunk. */
const CHUNK_BYTES = 256 * 1024;
/** Maximum distance, in entries, between a result and its call. */
const MAX_STEPS = 64;

/**
 * A session as a page shows it. Reads, and writes nothing; of what it read, it keeps no bodies. Asked again, it reads what
 * came since.
 */
export class SessionPage {
  #session: Session;
  readonly #options: PageOptions;
  readonly #secrets: SecretFilter;
  /** Redacts rows and facts, and counts the secrets in them. */
  readonly #redaction: Redaction;
  /** Redacts entries that are read again, without counting. */
  readonly #again: Redaction;
  #read: ReadRows;
  /** Entries of the chunk that was opened last, by record number: most results have their call there. */
  #chunk = new Map<number, Entry>();
  /** Row of the session's position when `data` was last called. */
  #leaf = -1;
  /** Secrets in facts and labels, which `data` redacts on each call: they count once. */
  #besides = 0;
  /** The session for summaries; reset by `data`. */
  #opened: OpenedSession | undefined;

  constructor(session: Session, options: PageOptions = {}) {
    this.#session = session;
    this.#options = options;
    const { redact = true, secrets = [] } = options;
    this.#secrets = new SecretFilter(secrets, redact);
    this.#redaction = new Redaction(this.#secrets);
    this.#again = new Redaction(this.#secrets);
    this.#read = new ReadRows(session, options, this.#redaction);
  }

  /** Number of secrets redacted so far. */
  get redacted(): number {
    return this.#redaction.count;
  }

  /** Continues with the session as it was opened again. */
  reopen(session: Session): this {
    this.#session = session;
    return this;
  }

  /** Everything but the bodies, as the session is now. Later calls have the same rows and new ones. */
  data(): PageData {
    const session = this.#session;
    if (!this.#read.goesOnIn(session)) this.#read = new ReadRows(session, this.#options, this.#redaction);
    this.#redaction.count -= this.#besides;
    this.#read.readOn(session);
    this.#opened = undefined;
    const { data, rows } = this.#read;
    const before = this.#redaction.count;
    const labels: PageData["labels"] = [];
    for (const [id, label] of session.labels()) {
      const row = rows.get(id);
      if (row !== undefined) labels.push([row, this.#redaction.text(label)]);
    }
    const facts = this.#read.facts(session);
    const models = this.#redaction.value(data.models);
    this.#besides = this.#redaction.count - before;
    this.#leaf = (session.leafId === null ? undefined : rows.get(session.leafId)) ?? -1;
    return {
      ...data,
      session: facts,
      leaf: this.#leaf,
      compared: comparedEnds({ rows: data.rows, leaf: this.#leaf }),
      labels,
      models,
      redacted: this.#redaction.count,
    };
  }

  /** The bodies of a chunk of the last `data`. */
  bodies({ first, count }: ChunkPlace): EntryBody[] {
    const numbers = this.#read.numbers.slice(first, first + count);
    this.#chunk = new Map();
    for (const { entry, number } of this.#session.entriesAt(numbers))
      this.#chunk.set(number, this.#again.entry(entry));
    return numbers.map((number, at) => {
      const entry = this.#chunk.get(number);
      return entry === undefined ? unreadable : this.#body(entry, first + at);
    });
  }

  /** Compares the branch that ends at a row of `data().compared` with the session's position. */
  comparison(end: number): Comparison {
    const { rows, data } = this.#read;
    const shown = { rows: data.rows, requests: data.requests, leaf: this.#leaf };
    const rowOf = (id: string) => rows.get(id) ?? -1;
    return compareWithHere(end, { session: this.#session, data: shown, rowOf, secrets: this.#secrets });
  }

  #body(entry: Entry, row: number): EntryBody {
    const body = entryBody(entry, (result) => this.#callOf(result, row));
    if (entry.type !== "compaction" && entry.type !== "branch_summary") return body;
    this.#opened ??= {
      session: this.#session,
      rowOf: (id) => this.#read.rows.get(id) ?? -1,
      shown: (each) => this.#again.entry(each),
    };
    return { ...body, summary: summaryBody(this.#opened, entry) };
  }

  /** The call that a result answers: of the first answer above it. */
  #callOf({ toolCallId }: ToolResultMessage, row: number): AskedCall | undefined {
    const { numbers, data } = this.#read;
    const { parents } = data.rows;
    let at = parents[row] ?? -1;
    for (let step = 0; step < MAX_STEPS && at >= 0; step += 1) {
      const number = numbers[at]!;
      const entry = this.#chunk.get(number) ?? this.#shownAt(number);
      if (entry?.type === "message" && entry.message?.role === "assistant") {
        const calls = callsIn(entry.message);
        const call = calls.find(({ id }) => id === toolCallId);
        return call && { call, isOnly: calls.length === 1 };
      }
      at = parents[at] ?? -1;
    }
    return undefined;
  }

  #shownAt(number: number): Entry | undefined {
    const entry = this.#session.entryAt(number);
    return entry && this.#again.entry(entry);
  }
}

/** The rows of a session read so far, with requests, compactions and costs. */
class ReadRows {
  readonly data: Pick<PageData, "rows" | "masks" | "chunks" | "requests" | "compactions" | "models">;
  /** Row by id; the latest for a repeated id. */
  readonly rows = new Map<string, number>();
  /** By row: its record in the session's index. */
  readonly numbers: number[] = [];
  readonly #options: PageOptions;
  readonly #redaction: Redaction;
  readonly #requests: RequestRows;
  readonly #compactions = new CompactionRows();
  readonly #chunks: Chunks;
  readonly #used = new UsageCounter();
  /** By number of the record; -1 for an unreadable one. */
  readonly #rowOfNumber: number[] = [];
  readonly #sessionId: string;
  #program: string;

  constructor(session: Session, options: PageOptions, redaction: Redaction) {
    const rows = emptyRows();
    this.#sessionId = session.id;
    this.#options = options;
    this.#redaction = redaction;
    this.#program = options.program ?? (isOldVersion(session.header) ? "pi" : "");
    const shared = { rows, masks: [] };
    this.#requests = new RequestRows(shared, (id) => this.rows.get(id) ?? -1, options);
    const { requests, models } = this.#requests;
    const { compactions } = this.#compactions;
    this.data = { ...shared, chunks: [], requests, compactions, models };
    this.#chunks = new Chunks(this.data.chunks);
  }

  /** True if the session still begins with the rows read so far. */
  goesOnIn(session: Session): boolean {
    const index = session.index();
    const last = this.numbers.at(-1);
    if (session.id !== this.#sessionId || index.count < this.#rowOfNumber.length) return false;
    return last === undefined || index.id(last) === this.data.rows.ids.at(-1);
  }

  readOn(session: Session): void {
    const index = session.index();
    const from = this.#rowOfNumber.length;
    const added = Array.from({ length: index.count - from }, (_, at) => from + at);
    for (const number of added) this.#rowOfNumber[number] = -1;
    for (const { entry, number } of session.entriesAt(added)) this.#add(session, entry, number);
  }

  facts(session: Session): PageData["session"] {
    const { id, cwd, header, name } = session;
    const cost = this.#used.cost.cost(this.#options.isFree);
    return {
      id,
      title:
        lineText([{ text: this.#redaction.text(name ?? "").trim() }], PREVIEW_CHARS) ||
        beginning(this.data.rows),
      startedAt: String(header.timestamp),
      cwd: this.#redaction.text(cwd),
      program: this.#program,
      costUsd: knownUsd(cost),
      costText: costText(cost),
    };
  }

  #add(session: Session, entry: Entry, number: number): void {
    const { rows, masks } = this.data;
    const index = session.index();
    const row = this.numbers.length;
    let parent = index.parent(number);
    while (parent >= 0 && this.#rowOfNumber[parent] === -1) parent = index.parent(parent);
    this.#used.add(entry);
    addRow(rows, entry, parent < 0 ? -1 : this.#rowOfNumber[parent]!, this.#redaction.entry(entry));
    this.numbers.push(number);
    this.#rowOfNumber[number] = row;
    this.rows.set(entry.id, row);
    const target = entry.type === "context_edit" && entry.replacement !== undefined ? entry.targetId : "";
    if (this.rows.has(target)) masks.push({ row, target: this.rows.get(target)! });
    this.#requests.add(session, entry, row);
    this.#compactions.add(entry, row, tokensAfter);
    this.#chunks.add(index.record(number).lengthBytes);
    this.#program ||= importedFrom(entry) ?? (isOwn(entry) ? "Bonsai" : "");
  }
}

/** The first message of the user. */
function beginning({ kinds, previews }: PageRows): string {
  const first = kinds.findIndex((kind, row) => rowKinds[kind] === "user" && previews[row] !== "");
  return previews[first] ?? "Untitled session";
}

/** Before the version that Bonsai began with, only pi wrote sessions. */
function isOldVersion({ version }: SessionHeader): boolean {
  return version !== SESSION_VERSION;
}

function isOwn(entry: Entry): boolean {
  return entry.type === "custom" && String(entry.customType).startsWith("bonsai.");
}

const unreadable: EntryBody = {
  parts: [{ type: "error", text: "This entry is damaged and cannot be shown." }],
};

/** Cuts rows into chunks as they come. */
class Chunks {
  readonly #places: ChunkPlace[];
  #bytes = 0;
  #rows = 0;

  constructor(places: ChunkPlace[]) {
    this.#places = places;
  }

  add(lengthBytes: number): void {
    const open = this.#places.at(-1);
    const isFull = open === undefined || open.count >= CHUNK_ROWS || this.#bytes + lengthBytes > CHUNK_BYTES;
    if (isFull) {
      this.#places.push({ first: this.#rows, count: 1 });
      this.#bytes = 0;
    } else open.count += 1;
    this.#bytes += lengthBytes;
    this.#rows += 1;
  }
}
