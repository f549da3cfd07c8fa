import { costText, knownUsd, type ToolCall, type ToolResultMessage, toolCalls } from "@bonsai-agent/messages";
import {
  type Entry,
  SESSION_VERSION,
  type Session,
  type SessionHeader,
  UsageCounter,
} from "@bonsai-agent/session";
import { entryBody } from "./bodies.ts";
import { type ChunkPlace, type EntryBody, type PageData, type PageRows, rowKinds } from "./page-data.ts";
import { Redaction } from "./redaction.ts";
import { CompactionRows, type RequestOptions, RequestRows } from "./requests.ts";
import { addRow, emptyRows, oneLine } from "./rows.ts";
import { type OpenedSession, sourcesOf, summaryBody, tokensAfter } from "./summaries.ts";

export interface PageOptions extends RequestOptions {
  /** Replaces what looks like a key. Default: true */
  redact?: boolean | undefined;
  /** Keys that are stored: they are taken out too. Default: none */
  secrets?: readonly string[] | undefined;
  /** Tells of a `provider/model` whether it is known to be free. Default: of none. */
  isFree?: ((model: string) => boolean) | undefined;
  /** Whose session it was. Default: Bonsai's or pi's, where the session itself tells. */
  program?: string | undefined;
}

const CHUNK_ROWS = 64;
/** Of the file; an entry that is larger has a chunk of its own. */
const CHUNK_BYTES = 256 * 1024;
/** So far above its result a call may stand. */
const MOST_STEPS = 64;

/** A session as a page shows it. Reads, and writes nothing; of what it read, it keeps no bodies. */
export class SessionPage {
  readonly #session: Session;
  readonly #options: PageOptions;
  readonly #redaction: Redaction;
  /** By row: its record in the session's index. */
  #numbers: number[] = [];
  #parents: readonly number[] = [];
  #rows = new Map<string, number>();
  /** Of the chunk that was opened last, by number of the record: most results have their call there. */
  #chunk = new Map<number, Entry>();
  /** As long as the session is what `data` has last told. */
  #opened: OpenedSession | undefined;

  constructor(session: Session, options: PageOptions = {}) {
    this.#session = session;
    this.#options = options;
    this.#redaction = new Redaction(options.redact ?? true, options.secrets ?? []);
  }

  /** Secrets that were taken out of what was asked for so far. */
  get redacted(): number {
    return this.#redaction.count;
  }

  /** Everything but the bodies, as the session is now. */
  data(): PageData {
    const session = this.#session;
    const data = this.#emptyData();
    const index = session.index();
    const rowOfNumber = new Int32Array(index.count).fill(-1);
    const rows = new Map<string, number>();
    const numbers: number[] = [];
    const rowOf = (id: string) => rows.get(id) ?? -1;
    const requests = new RequestRows(session, data, rowOf, this.#options);
    const compactions = new CompactionRows();
    const chunks = new Chunks(data.chunks);
    const used = new UsageCounter();
    for (const { entry, number } of session.scan()) {
      const row = numbers.length;
      let parent = index.parent(number);
      while (parent >= 0 && rowOfNumber[parent] === -1) parent = index.parent(parent);
      used.add(entry);
      addRow(data.rows, entry, parent < 0 ? -1 : rowOfNumber[parent]!, this.#redaction.text);
      numbers.push(number);
      rowOfNumber[number] = row;
      rows.set(entry.id, row);
      if (entry.type === "context_edit" && entry.replacement !== undefined && rows.has(entry.targetId))
        data.masks.push({ row, target: rowOf(entry.targetId) });
      requests.add(entry, row);
      compactions.add(entry, row, tokensAfter);
      chunks.add(index.record(number).lengthBytes);
      if (isOwn(entry)) data.session.program ||= "Bonsai";
    }
    const cost = used.cost.cost(this.#options.isFree);
    data.session.costUsd = knownUsd(cost);
    data.session.costText = costText(cost);
    if (data.session.title === "") data.session.title = beginning(data.rows);
    data.leaf = session.leafId === null ? -1 : rowOf(session.leafId);
    for (const [id, label] of session.labels())
      if (rows.has(id)) data.labels.push([rowOf(id), this.#redaction.text(label)]);
    data.requests = requests.requests;
    data.models = this.#redaction.value(requests.models);
    data.compactions = compactions.compactions;
    this.#numbers = numbers;
    this.#parents = data.rows.parents;
    this.#rows = rows;
    this.#opened = undefined;
    data.redacted = this.#redaction.count;
    return data;
  }

  /** The bodies of a chunk's rows, as `data` has last told them. */
  bodies({ first, count }: ChunkPlace): EntryBody[] {
    const numbers = this.#numbers.slice(first, first + count);
    this.#chunk = new Map();
    for (const { entry, number } of this.#session.entriesAt(numbers)) this.#chunk.set(number, entry);
    return numbers.map((number, at) => {
      const entry = this.#chunk.get(number);
      return entry === undefined ? unreadable : this.#redaction.value(this.#body(entry, first + at));
    });
  }

  #body(entry: Entry, row: number): EntryBody {
    const body = entryBody(entry, (result) => this.#callOf(result, row));
    if (entry.type !== "compaction" && entry.type !== "branch_summary") return body;
    this.#opened ??= {
      session: this.#session,
      sources: sourcesOf(this.#session),
      rowOf: (id) => this.#rows.get(id) ?? -1,
    };
    return { ...body, summary: summaryBody(this.#opened, entry) };
  }

  /** The call that a result answers: of the first answer above it. */
  #callOf({ toolCallId }: ToolResultMessage, row: number): ToolCall | undefined {
    let at = this.#parents[row] ?? -1;
    for (let step = 0; step < MOST_STEPS && at >= 0; step += 1) {
      const number = this.#numbers[at]!;
      const entry = this.#chunk.get(number) ?? this.#session.entryAt(number);
      if (entry?.type === "message" && entry.message?.role === "assistant")
        return toolCalls(entry.message).find(({ id }) => id === toolCallId);
      at = this.#parents[at] ?? -1;
    }
    return undefined;
  }

  #emptyData(): PageData {
    return {
      session: this.#facts,
      rows: emptyRows(),
      leaf: -1,
      labels: [],
      masks: [],
      chunks: [],
      requests: [],
      compactions: [],
      models: [],
      redacted: 0,
    };
  }

  get #facts(): PageData["session"] {
    const { id, cwd, header, name } = this.#session;
    const clean = this.#redaction.text;
    return {
      id,
      title: oneLine(clean(name ?? "")),
      startedAt: String(header.timestamp),
      cwd: clean(cwd),
      program: this.#options.program ?? (isOldVersion(header) ? "pi" : ""),
      costUsd: null,
      costText: "",
    };
  }
}

/** What its user said first. */
function beginning({ kinds, previews }: PageRows): string {
  const first = kinds.findIndex((kind, row) => rowKinds[kind] === "user" && previews[row] !== "");
  return previews[first] ?? "A session without words";
}

/** Before the version that Bonsai began with, only pi wrote sessions. */
function isOldVersion({ version }: SessionHeader): boolean {
  return version !== SESSION_VERSION;
}

function isOwn(entry: Entry): boolean {
  return entry.type === "custom" && String(entry.customType).startsWith("bonsai.");
}

const unreadable: EntryBody = { parts: [{ type: "error", text: "This entry cannot be read." }] };

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
