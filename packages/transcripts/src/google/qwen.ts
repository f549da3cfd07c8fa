import type { Usage } from "@bonsai-agent/messages";
import { userDrafts } from "../import/injected.ts";
import {
  type Fields,
  fieldsAt,
  type JsonLine,
  listAt,
  numberAt,
  stringAt,
  timeAt,
  typeOf,
} from "../import/json-lines.ts";
import type { NoticeLog } from "../import/notices.ts";
import { answerDraft, resultDraft, StepList, SUMMARY_MISSING, type Transcript } from "../import/step.ts";
import { type UuidNode, uuidTree } from "../import/uuid-tree.ts";
import {
  answerParts,
  functionResponses,
  partsContent,
  partsText,
  responseContent,
  usageMetadata,
} from "./records.ts";

/** The status of a successful compression. */
const COMPRESSED = 1;

/** Reads a chat recording of Qwen Code: a tree of records with parts as Google's API has them. */
export function readQwen(lines: readonly JsonLine[], notices: NoticeLog): Transcript {
  return new QwenReader(notices).read(lines);
}

class QwenReader {
  readonly #list: StepList;
  readonly #notices: NoticeLog;
  readonly #places = new Map<string | null, string | null>();
  #name: string | undefined;

  constructor(notices: NoticeLog) {
    this.#list = new StepList(notices);
    this.#notices = notices;
  }

  read(lines: readonly JsonLine[]): Transcript {
    const nodes = uuidTree({ lines, notices: this.#notices });
    for (const node of nodes) this.#place(node);
    const last = nodes.toSorted((a, b) => a.line - b.line).at(-1);
    const first = nodes[0]?.record;
    return {
      id: stringAt(first, "sessionId") ?? "unknown",
      cwd: stringAt(first, "cwd"),
      name: this.#name,
      version: stringAt(first, "version"),
      list: this.#list,
      leaf: this.#places.get(last?.uuid ?? null) ?? null,
    };
  }

  #place(node: UuidNode): void {
    const { record, line, uuid: key } = node;
    this.#notices.place = line;
    this.#list.head = this.#places.get(node.parent) ?? null;
    const parts = fieldsAt(record, "message")?.parts;
    const place = { key, at: timeAt(record, "timestamp") };
    if (record.type === "user") this.#addUser(parts, place);
    else if (record.type === "assistant") {
      const usage = usageMetadata(fieldsAt(record, "usageMetadata"));
      this.#addAnswer(parts, place, { model: stringAt(record, "model"), usage });
    } else if (record.type === "tool_result") this.#addResults(parts, place);
    else if (record.type === "system") this.#addSystem(record, place);
    else {
      this.#notices.add("unknown_record");
      this.#list.skip(typeOf(record));
    }
    this.#places.set(key, this.#list.head);
  }

  #addUser(parts: unknown, place: RecordPlace): void {
    for (const draft of userDrafts(partsContent(parts, this.#notices), "qwen.context"))
      this.#list.add(draft, place);
    this.#addResults(parts, place);
  }

  #addAnswer(
    parts: unknown,
    place: RecordPlace,
    { model = "unknown", usage }: { model?: string | undefined; usage?: Usage | undefined } = {},
  ): void {
    this.#list.add(answerDraft({ content: answerParts(parts), provider: "qwen", model, usage }), place);
  }

  #addResults(parts: unknown, place: RecordPlace): void {
    for (const response of functionResponses(parts)) {
      const name = stringAt(response, "name");
      const id = stringAt(response, "id") ?? name ?? "unknown";
      this.#list.add(resultDraft(id, responseContent(response), name), place);
    }
  }

  #addSystem(record: Fields, place: RecordPlace): void {
    const payload = fieldsAt(record, "systemPayload");
    const { subtype } = record;
    if (subtype === "chat_compression") {
      this.#compress(payload, place);
      return;
    }
    if (subtype === "custom_title") this.#name = stringAt(payload, "customTitle") ?? this.#name;
    if (subtype === "rewind") this.#notices.add("rewound");
    this.#list.skip(`system/${stringAt(record, "subtype") ?? "untyped"}`);
  }

  /** The compressed history is the summary, a fixed reply, and the kept messages without their uuids. */
  #compress(payload: Fields | undefined, place: RecordPlace): void {
    const info = fieldsAt(payload, "info");
    if (info !== undefined && info.compressionStatus !== COMPRESSED) {
      this.#notices.add("failed_compaction");
      return;
    }
    const [first, ...rest] = listAt(payload, "compressedHistory");
    if (first === undefined) this.#notices.add("summary_missing");
    const summary = first === undefined ? SUMMARY_MISSING : partsText(first.parts);
    const tokensBefore = numberAt(info, "originalTokenCount");
    this.#list.add({ type: "compaction", summary, firstKeptEntryId: "", tokensBefore }, place);
    for (const { role, parts } of rest[0]?.role === "model" ? rest.slice(1) : rest) {
      this.#notices.add("compaction_restated");
      if (role === "model") this.#addAnswer(parts, place);
      else this.#addUser(parts, place);
    }
  }
}

/** The key and time of a record's steps. */
interface RecordPlace {
  key: string;
  at: string | undefined;
}
