import { userDrafts } from "../import/injected.ts";
import {
  type Fields,
  fieldsAt,
  isoTime,
  type JsonLine,
  listAt,
  numberAt,
  stringAt,
} from "../import/json-lines.ts";
import type { NoticeLog } from "../import/notices.ts";
import {
  assistantDraft,
  countSkipped,
  resultDraft,
  StepList,
  SUMMARY_MISSING,
  type Transcript,
} from "../import/step.ts";
import { type UuidNode, uuidTree } from "../import/uuid-tree.ts";
import {
  answerParts,
  functionResponses,
  partsContent,
  partsText,
  responseContent,
  usageMetadata,
} from "./records.ts";

/** The status that a compression record has when it succeeded. */
const COMPRESSED = 1;

/** Reads a chat recording of Qwen Code: a tree of records with parts as Google's API has them. */
export function readQwen(lines: readonly JsonLine[], notices: NoticeLog): Transcript {
  return new QwenReader(notices).read(lines);
}

class QwenReader {
  readonly #steps = new StepList();
  readonly #notices: NoticeLog;
  readonly #skipped = new Map<string, number>();
  readonly #places = new Map<string, string | null>();
  #name: string | undefined;

  constructor(notices: NoticeLog) {
    this.#notices = notices;
  }

  read(lines: readonly JsonLine[]): Transcript {
    const nodes = uuidTree({ lines, notices: this.#notices });
    for (const node of nodes) this.#place(node);
    const last = nodes.reduce<UuidNode | undefined>(
      (a, b) => (a === undefined || b.line > a.line ? b : a),
      undefined,
    );
    return {
      id: stringAt(nodes[0]?.record, "sessionId") ?? "unknown",
      cwd: stringAt(nodes[0]?.record, "cwd"),
      name: this.#name,
      version: stringAt(nodes[0]?.record, "version"),
      steps: this.#steps.steps,
      leaf: last === undefined ? null : (this.#places.get(last.uuid) ?? null),
      notices: this.#notices,
      skipped: this.#skipped,
      subAgents: [],
    };
  }

  #place(node: UuidNode): void {
    this.#steps.source = node.line;
    this.#notices.place = node.line;
    this.#steps.head = node.parent === null ? null : (this.#places.get(node.parent) ?? null);
    const { record } = node;
    const parts = fieldsAt(record, "message")?.parts;
    if (record.type === "user") this.#addUser(node.uuid, parts, isoTime(record.timestamp));
    else if (record.type === "assistant") this.#addAnswer(node, parts);
    else if (record.type === "tool_result") this.#addResults(node.uuid, parts, isoTime(record.timestamp));
    else if (record.type === "system") this.#addSystem(node);
    else {
      this.#notices.add("unknown_record", node.line);
      countSkipped(this.#skipped, stringAt(record, "type") ?? "untyped");
    }
    this.#places.set(node.uuid, this.#steps.head);
  }

  #addUser(key: string, parts: unknown, at: string | undefined): void {
    const content = partsContent(parts, this.#notices);
    for (const draft of userDrafts({ content, customType: "qwen.context", at }))
      this.#steps.add({ key, at, draft });
    this.#addResults(key, parts, at);
  }

  #addAnswer({ uuid, record }: UuidNode, parts: unknown): void {
    const at = isoTime(record.timestamp);
    const draft = assistantDraft({
      content: answerParts(parts),
      provider: "qwen",
      model: stringAt(record, "model") ?? "unknown",
      at,
      usage: usageMetadata(fieldsAt(record, "usageMetadata")),
    });
    this.#steps.add({ key: uuid, at, draft });
  }

  #addResults(key: string, parts: unknown, at: string | undefined): void {
    for (const response of functionResponses(parts)) {
      const draft = resultDraft({
        callId: stringAt(response, "id") ?? stringAt(response, "name") ?? "unknown",
        toolName: stringAt(response, "name") ?? "unknown",
        at,
        ...responseContent(response),
      });
      this.#steps.add({ key, at, draft });
    }
  }

  #addSystem(node: UuidNode): void {
    const { record } = node;
    const payload = fieldsAt(record, "systemPayload");
    if (record.subtype === "chat_compression") {
      this.#compress(node, payload);
      return;
    }
    if (record.subtype === "custom_title") this.#name = stringAt(payload, "customTitle") ?? this.#name;
    if (record.subtype === "rewind") this.#notices.add("rewound", node.line);
    countSkipped(this.#skipped, `system/${stringAt(record, "subtype") ?? "untyped"}`);
  }

  /** The compressed history is the summary, a fixed reply, and what was kept, without its uuids. */
  #compress({ uuid, record, line }: UuidNode, payload: Fields | undefined): void {
    const info = fieldsAt(payload, "info");
    const at = isoTime(record.timestamp);
    if (info !== undefined && info.compressionStatus !== COMPRESSED) {
      this.#notices.add("failed_compaction", line);
      return;
    }
    const [summary, ...rest] = listAt(payload, "compressedHistory");
    if (summary === undefined) this.#notices.add("summary_missing", line);
    this.#steps.add({
      key: uuid,
      at,
      draft: {
        type: "compaction",
        summary: summary === undefined ? SUMMARY_MISSING : partsText(summary.parts),
        firstKeptEntryId: "",
        tokensBefore: numberAt(info, "originalTokenCount"),
      },
    });
    const carried = rest[0]?.role === "model" ? rest.slice(1) : rest;
    for (const content of carried) this.#restate(content, uuid, line, at);
  }

  #restate(content: Fields, key: string, line: number, at: string | undefined): void {
    this.#notices.add("compaction_restated", line);
    if (content.role !== "model") {
      this.#addUser(key, content.parts, at);
      return;
    }
    const draft = assistantDraft({
      content: answerParts(content.parts),
      provider: "qwen",
      model: "unknown",
      at,
    });
    this.#steps.add({ key, at, draft });
  }
}
