import {
  type Fields,
  fieldsAt,
  type JsonLine,
  listAt,
  nameOf,
  stringAt,
  timeAt,
  typeOf,
} from "../import/json-lines.ts";
import type { NoticeLog, SourcePlace } from "../import/notices.ts";
import { type StepList, SUMMARY_MISSING } from "../import/step.ts";
import { functionResponses, partsText, responseContent } from "./records.ts";

/** A message of the recording in its latest form, with its place in the history. */
export interface GeminiNode {
  record: Fields;
  /** Its line, or its id if the whole recording is one object. */
  place: SourcePlace;
  parent: GeminiNode | GeminiCompression | null;
}

/** A replacement of the whole list, by which the program records its compression. */
export interface GeminiCompression {
  summary: string;
  line: number;
  at: string | undefined;
  parent: GeminiNode | GeminiCompression | null;
  firstKept: GeminiNode | undefined;
  /** Nodes below the first kept one that the program dropped from its list. */
  omitted: GeminiNode[];
}

/** Replays the recording: the list of messages at each time, as a tree. */
export class GeminiHistory {
  readonly nodes: Array<GeminiNode | GeminiCompression> = [];
  /** Results that the program replaced in its list without compressing: call id and content. */
  readonly masks: [callId: string, content: string][] = [];
  metadata: Fields = {};
  head: GeminiNode | GeminiCompression | null = null;
  /** The list as the program has it, by id. */
  #current = new Map<string, GeminiNode>();
  readonly #list: StepList;
  readonly #notices: NoticeLog;

  constructor(list: StepList) {
    this.#list = list;
    this.#notices = list.notices;
  }

  read({ line, value }: JsonLine): void {
    this.#notices.place = line;
    const rewindTo = stringAt(value, "$rewindTo");
    const update = fieldsAt(value, "$set");
    if (rewindTo !== undefined) this.#rewind(rewindTo);
    else if (update !== undefined) this.#update(update, line);
    else if (typeof value.id === "string" && value.type !== undefined) this.#record(value, line);
    else if (typeof value.sessionId === "string") {
      this.metadata = { ...this.metadata, ...value };
      for (const message of listAt(value, "messages")) this.#record(message, stringAt(message, "id") ?? line);
    } else {
      this.#notices.add("unknown_record");
      this.#list.skip(typeOf(value));
    }
  }

  /** The same id again is the same message, in a later state. */
  #record(record: Fields, place: SourcePlace): void {
    const id = nameOf(record.id);
    const known = this.#current.get(id);
    if (known !== undefined) {
      known.record = record;
      return;
    }
    const node: GeminiNode = { record, place, parent: this.head };
    this.nodes.push(node);
    this.#current.set(id, node);
    this.head = node;
  }

  /** Removes the named message and all later ones; as in the program, all messages if it is unknown. */
  #rewind(id: string): void {
    this.#notices.add("rewound");
    const all = [...this.#current];
    const found = all.findIndex(([key]) => key === id);
    const index = Math.max(0, found);
    this.head = all[index]?.[1].parent ?? null;
    this.#current = new Map(all.slice(0, index));
  }

  #update(update: Fields, line: number): void {
    const { messages, ...rest } = update;
    this.metadata = { ...this.metadata, ...rest };
    if (!Array.isArray(messages)) return;
    const listed = listAt(update, "messages");
    const added = listed.filter(({ id }) => !this.#current.has(nameOf(id))).filter(isNoResult);
    for (const message of listed) this.#noteMasks(message);
    const kept = new Set(listed.flatMap(({ id }) => this.#current.get(nameOf(id)) ?? []));
    const dropped = [...this.#current.values()].filter(
      (node) => ["user", "gemini"].includes(nameOf(node.record.type)) && !kept.has(node),
    );
    const place = { line, at: timeAt(update, "lastUpdated") };
    if (dropped.length > 0) this.#compress([...kept], dropped, added, place);
    else for (const message of added) this.#record(message, line);
  }

  #compress(
    kept: readonly GeminiNode[],
    dropped: readonly GeminiNode[],
    added: readonly Fields[],
    { line, at }: Pick<GeminiCompression, "line" | "at">,
  ): void {
    const summaryRecord = added.find((message) => message.type === "user");
    if (summaryRecord === undefined) this.#notices.add("summary_missing");
    const summary = summaryRecord === undefined ? SUMMARY_MISSING : partsText(summaryRecord.content);
    const order = [...this.#current.values()];
    const [firstKept] = kept;
    const from = firstKept === undefined ? order.length : order.indexOf(firstKept);
    const omitted = dropped.filter((node) => order.indexOf(node) > from);
    const compression: GeminiCompression = { summary, line, at, parent: this.head, firstKept, omitted };
    this.nodes.push(compression);
    this.#current = new Map(kept.map((node) => [nameOf(node.record.id), node]));
    this.head = compression;
    // The program adds a fixed reply of the model after its summary.
    for (const message of added.filter((each) => each !== summaryRecord && each.type !== "gemini")) {
      this.#notices.add("compaction_restated");
      this.#record(message, line);
    }
  }

  /** The program masked a result that differs from the recorded one. */
  #noteMasks(message: Fields): void {
    const known = this.#current.get(nameOf(message.id))?.record;
    const before = new Map(listAt(known, "toolCalls").map((call) => [call.id, resultText(call)]));
    for (const call of listAt(message, "toolCalls")) {
      const content = resultText(call);
      const old = before.get(call.id);
      if (old !== undefined && content !== undefined && old !== content)
        this.masks.push([nameOf(call.id), content]);
    }
  }
}

/** False for a user message of results alone: the recording has them with their calls. */
function isNoResult({ content }: Fields): boolean {
  return functionResponses(content).length === 0 || partsText(content) !== "";
}

function resultText(call: Fields): string | undefined {
  const response = functionResponses(call.result)[0];
  const first = response === undefined ? undefined : responseContent(response).content[0];
  return first?.type === "text" ? first.text : undefined;
}
