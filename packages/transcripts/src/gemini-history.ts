import { type Fields, fieldsAt, isoTime, listAt, nameOf, stringAt } from "./fields.ts";
import { functionResponses, partsText, responseContent } from "./gemini-parts.ts";
import type { JsonLine } from "./json-lines.ts";
import type { NoticeLog, SourcePlace } from "./notices.ts";
import { countSkipped, SUMMARY_MISSING } from "./step.ts";

/** A message of the recording, in the form it had last, with its place in the history. */
export interface GeminiNode {
  record: Fields;
  /** Its line, or its id where the whole recording is one object. */
  place: SourcePlace;
  line: number;
  parent: GeminiNode | GeminiCompression | null;
}

/** A replacement of the whole list, by which the program records its compression. */
export interface GeminiCompression {
  summary: string;
  line: number;
  at: string | undefined;
  parent: GeminiNode | GeminiCompression | null;
  firstKept: GeminiNode | undefined;
  /** Kept in place by the program but not in its list any more. */
  omitted: GeminiNode[];
}

/** Results that the program replaced in its list without compressing. */
export interface GeminiMask {
  callId: string;
  content: string;
}

/** Replays the recording: what the list of messages was at each time, as a tree. */
export class GeminiHistory {
  readonly nodes: Array<GeminiNode | GeminiCompression> = [];
  readonly masks: GeminiMask[] = [];
  metadata: Fields = {};
  head: GeminiNode | GeminiCompression | null = null;
  readonly skipped = new Map<string, number>();
  /** The list as the program has it, by id. */
  #current = new Map<string, GeminiNode>();
  readonly #notices: NoticeLog;

  constructor(notices: NoticeLog) {
    this.#notices = notices;
  }

  read({ line, value }: JsonLine): void {
    this.#notices.place = line;
    const rewindTo = stringAt(value, "$rewindTo");
    const update = fieldsAt(value, "$set");
    if (rewindTo !== undefined) this.#rewind(rewindTo, line);
    else if (update !== undefined) this.#update(update, line);
    else if (typeof value.id === "string" && value.type !== undefined) this.#record(value, line);
    else if (typeof value.sessionId === "string") this.#readMetadata(value, line);
    else {
      this.#notices.add("unknown_record", line);
      countSkipped(this.skipped, stringAt(value, "type") ?? "untyped");
    }
  }

  #readMetadata(metadata: Fields, line: number): void {
    this.metadata = { ...this.metadata, ...metadata };
    for (const message of listAt(metadata, "messages"))
      this.#record(message, line, stringAt(message, "id") ?? line);
  }

  /** The same id again is the same message, in a later state. */
  #record(record: Fields, line: number, place: SourcePlace = line): void {
    const known = this.#current.get(nameOf(record.id));
    if (known !== undefined) {
      known.record = record;
      return;
    }
    const node: GeminiNode = { record, place, line, parent: this.head };
    this.nodes.push(node);
    this.#current.set(nameOf(record.id), node);
    this.head = node;
  }

  /** Everything from the named message on is gone; as in the program, everything when it is unknown. */
  #rewind(id: string, line: number): void {
    this.#notices.add("rewound", line);
    const all = [...this.#current];
    const index = Math.max(
      0,
      all.findIndex(([key]) => key === id),
    );
    this.head = all[index]?.[1].parent ?? null;
    this.#current = new Map(all.slice(0, index));
  }

  #update(update: Fields, line: number): void {
    const { messages, ...rest } = update;
    this.metadata = { ...this.metadata, ...rest };
    if (Array.isArray(messages)) this.#replace(listAt(update, "messages"), line, isoTime(update.lastUpdated));
  }

  #replace(messages: readonly Fields[], line: number, at: string | undefined): void {
    const kept = messages.flatMap((message) => this.#current.get(nameOf(message.id)) ?? []);
    const added = messages.filter(
      (message) => !this.#current.has(nameOf(message.id)) && !isResultsOnly(message),
    );
    for (const message of messages) this.#noteMasks(this.#current.get(nameOf(message.id)), message);
    const keptSet = new Set(kept);
    const dropped = [...this.#current.values()].filter((node) => isConversation(node) && !keptSet.has(node));
    if (dropped.length > 0) this.#compress({ kept, dropped, added, line, at });
    else for (const message of added) this.#record(message, line);
  }

  #compress(options: {
    kept: GeminiNode[];
    dropped: GeminiNode[];
    added: Fields[];
    line: number;
    at: string | undefined;
  }): void {
    const { kept, dropped, added, line } = options;
    const summaryRecord = added.find((message) => message.type === "user");
    if (summaryRecord === undefined) this.#notices.add("summary_missing", line);
    const order = [...this.#current.values()];
    const from = kept[0] === undefined ? order.length : order.indexOf(kept[0]);
    const compression: GeminiCompression = {
      summary: summaryRecord === undefined ? SUMMARY_MISSING : partsText(summaryRecord.content),
      line,
      at: options.at,
      parent: this.head,
      firstKept: kept[0],
      omitted: dropped.filter((node) => order.indexOf(node) > from),
    };
    this.nodes.push(compression);
    this.#current = new Map(kept.map((node) => [nameOf(node.record.id), node]));
    this.head = compression;
    // Right after its summary the program puts a fixed reply into the model's mouth.
    for (const message of added.filter((each) => each !== summaryRecord && each.type !== "gemini")) {
      this.#notices.add("compaction_restated", line);
      this.#record(message, line);
    }
  }

  /** A result that differs from the recorded one was masked by the program. */
  #noteMasks(node: GeminiNode | undefined, message: Fields): void {
    if (node === undefined) return;
    const before = new Map(listAt(node.record, "toolCalls").map((call) => [call.id, resultText(call)]));
    for (const call of listAt(message, "toolCalls")) {
      const content = resultText(call);
      const old = before.get(call.id);
      if (old !== undefined && content !== undefined && old !== content) {
        this.masks.push({ callId: nameOf(call.id), content });
      }
    }
  }
}

function isConversation({ record }: GeminiNode): boolean {
  return record.type === "user" || record.type === "gemini";
}

/** The program lists results as user messages too; the recording has them with their calls. */
function isResultsOnly(message: Fields): boolean {
  return functionResponses(message.content).length > 0 && partsText(message.content) === "";
}

function resultText(call: Fields): string | undefined {
  const response = functionResponses(call.result)[0];
  const first = response === undefined ? undefined : responseContent(response).content[0];
  return first?.type === "text" ? first.text : undefined;
}
