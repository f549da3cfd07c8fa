import {
  type AssistantContent,
  type AssistantMessage,
  type ImageContent,
  isRecord,
  type StopReason,
  type Usage,
  type UserContent,
} from "@bonsai-agent/messages";
import type { EntryDraft } from "@bonsai-agent/session";
import { type Fields, fieldsAt, listAt, numberAt, stringAt } from "../import/json-lines.ts";
import type { NoticeLog } from "../import/notices.ts";
import { callArguments, text } from "../import/step.ts";
import type { UuidNode } from "../import/uuid-tree.ts";

/** The content blocks of a record's message; a string is one text block. */
export function messageBlocks(record: Fields): Fields[] {
  const message = fieldsAt(record, "message");
  const content = message?.content;
  return typeof content === "string" ? [{ type: "text", text: content }] : listAt(message, "content");
}

/** Text and images of blocks as a user message or tool result has them. */
export function userContent(blocks: readonly Fields[], notices: NoticeLog, line: number): UserContent[] {
  return blocks.flatMap((block): UserContent[] => {
    if (block.type === "text") return [text(stringAt(block, "text") ?? "")];
    if (block.type !== "image" && block.type !== "document") return [];
    const image = block.type === "image" ? storedImage(block) : undefined;
    if (image !== undefined) return [image];
    notices.add("image_not_stored", line);
    return [text(`[${block.type}: ${stringAt(fieldsAt(block, "source"), "media_type") ?? "not stored"}]`)];
  });
}

function storedImage(block: Fields): ImageContent | undefined {
  const source = fieldsAt(block, "source");
  const data = stringAt(source, "data");
  if (source?.type !== "base64" || data === undefined) return undefined;
  return { type: "image", data, mimeType: stringAt(source, "media_type") ?? "image/png" };
}

export function resultContent(block: Fields, notices: NoticeLog, line: number): UserContent[] {
  const { content } = block;
  if (typeof content === "string") return [text(content)];
  return Array.isArray(content) ? userContent(content.filter(isRecord), notices, line) : [];
}

export function assistantContent(
  blocks: readonly Fields[],
  notices: NoticeLog,
  line: number,
): AssistantContent[] {
  return blocks.flatMap((block): AssistantContent[] => {
    switch (block.type) {
      case "text":
        return [text(stringAt(block, "text") ?? "")];
      case "thinking":
        return [thinking(stringAt(block, "thinking") ?? "", stringAt(block, "signature"))];
      case "redacted_thinking":
        notices.add("unreadable", line);
        return [redacted(stringAt(block, "data") ?? "")];
      case "tool_use":
      case "server_tool_use":
        return [toolCall(block)];
      default:
        return [];
    }
  });
}

function thinking(value: string, signature: string | undefined): AssistantContent {
  const block: AssistantContent = { type: "thinking", thinking: value };
  return signature === undefined || signature === "" ? block : { ...block, thinkingSignature: signature };
}

/** The form of pi, with the opaque payload as the signature. */
function redacted(data: string): AssistantContent {
  const block = {
    type: "thinking",
    thinking: "[Reasoning redacted]",
    thinkingSignature: data,
    redacted: true,
  };
  return block as AssistantContent;
}

function toolCall(block: Fields): AssistantContent {
  return {
    type: "toolCall",
    id: stringAt(block, "id") ?? "",
    name: stringAt(block, "name") ?? "unknown",
    arguments: callArguments(block.input),
  };
}

/** A record's usage; undefined when it has none. Old records carry their cost, new ones do not. */
export function recordUsage(record: Fields): Usage | undefined {
  const usage = fieldsAt(fieldsAt(record, "message"), "usage");
  if (usage === undefined) return undefined;
  const input = numberAt(usage, "input_tokens");
  const output = numberAt(usage, "output_tokens");
  const cacheRead = numberAt(usage, "cache_read_input_tokens");
  const cacheWrite = numberAt(usage, "cache_creation_input_tokens");
  const total = numberAt(record, "costUSD");
  return {
    input,
    output,
    cacheRead,
    cacheWrite,
    totalTokens: input + output + cacheRead + cacheWrite,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total },
  };
}

const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "toolUse",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "stop",
  pause_turn: "stop",
};

export function recordStopReason(record: Fields): StopReason | undefined {
  if (record.isApiErrorMessage === true) return "error";
  return STOP_REASONS[stringAt(fieldsAt(record, "message"), "stop_reason") ?? ""];
}

/** The text of an attachment record; undefined for none. */
export function attachmentText(attachment: Fields): string | undefined {
  const file = fieldsAt(fieldsAt(attachment, "content"), "file");
  const found =
    stringAt(attachment, "content") ??
    stringAt(file, "content") ??
    stringAt(attachment, "text") ??
    stringAt(attachment, "snippet");
  if (found === undefined || found.trim() === "") return undefined;
  const name = stringAt(attachment, "filename") ?? stringAt(file, "filePath");
  return `[${stringAt(attachment, "type") ?? "attachment"}${name === undefined ? "" : ` ${name}`}]\n${found}`;
}

/** Adds steps in a row after `parent` and returns the last one. */
type AddSteps = (node: UuidNode, drafts: readonly EntryDraft[], parent: string | null) => string | null;

/** The id of an answer. Its content blocks are separate records with the same id. */
export function answerId(record: Fields, uuid: string): string {
  return stringAt(fieldsAt(record, "message"), "id") ?? uuid;
}

/**
 * Owner of the answers of one lane, each with the row of what follows it: parallel results hang side by side in the
 * file, here in a row, and what was said among them stands behind them all. An answer is named by its step.
 */
export class ClaudeCodeAnswers {
  readonly #addSteps: AddSteps;
  readonly #steps = new Map<string, string>();
  readonly #ids = new Map<string, string>();
  /** The answer whose row a step stands in. */
  readonly #ofStep = new Map<string, string>();
  readonly #ofCall = new Map<string, string>();
  /** The last step of each row. */
  readonly #ends = new Map<string, string>();
  /** By the answer's id: how many results are still to come. */
  readonly #toCome: Map<string, number>;
  readonly #waiting = new Map<string, Array<{ node: UuidNode; drafts: readonly EntryDraft[] }>>();

  constructor(nodes: readonly UuidNode[], addSteps: AddSteps) {
    this.#addSteps = addSteps;
    this.#toCome = countResults(nodes);
  }

  add(id: string, step: string): void {
    this.#steps.set(id, step);
    this.#ids.set(step, id);
    this.#ofStep.set(step, step);
  }

  step(id: string): string | undefined {
    return this.#steps.get(id);
  }

  addCalls(answer: string, content: AssistantMessage["content"]): void {
    for (const block of content) if (block.type === "toolCall") this.#ofCall.set(block.id, answer);
  }

  ofCall(callId: string): string | undefined {
    return this.#ofCall.get(callId);
  }

  /** True for the answer's own step and those of its row. */
  holds(answer: string, step: string | null): boolean {
    return step !== null && this.#ofStep.get(step) === answer;
  }

  endOf(answer: string): string {
    return this.#ends.get(answer) ?? answer;
  }

  /** The end of an answer's results, for what comes after them all. */
  tip(parent: string | null): string | null {
    const answer = parent === null ? undefined : this.#ofStep.get(parent);
    if (answer === undefined) return parent;
    this.#addWaiting(answer);
    return this.endOf(answer);
  }

  /** Notes that a call's first result came: as a step of the row, or elsewhere. */
  addResult(answer: string, step: string | undefined): void {
    if (step !== undefined) this.#extend(answer, step);
    const id = this.#ids.get(answer)!;
    const toCome = (this.#toCome.get(id) ?? 0) - 1;
    this.#toCome.set(id, toCome);
    // Text beside the last result follows it.
    if (toCome <= 0) this.#addWaiting(answer);
  }

  /**
   * Adds what is no part of an answer or its results. What is said among results stands behind them all, also
   * behind those that are still to come; what is said after them can be one of several branches.
   */
  addAside(
    node: UuidNode,
    drafts: readonly EntryDraft[],
    parent: string | null,
    isAmong = false,
  ): string | null {
    const answer = parent === null ? undefined : this.#ofStep.get(parent);
    if (answer === undefined) return this.#addSteps(node, drafts, parent);
    const toCome = this.#toCome.get(this.#ids.get(answer)!) ?? 0;
    if (toCome <= 0 && !isAmong) return this.#addSteps(node, drafts, this.tip(parent));
    const waiting = this.#waiting.get(answer) ?? [];
    this.#waiting.set(answer, waiting);
    waiting.push({ node, drafts });
    if (toCome > 0) return parent;
    this.#addWaiting(answer);
    return this.endOf(answer);
  }

  /** Adds what waits for results that never came. */
  addAllWaiting(): void {
    for (const answer of [...this.#waiting.keys()]) this.#addWaiting(answer);
  }

  #addWaiting(answer: string): void {
    const waiting = this.#waiting.get(answer) ?? [];
    this.#waiting.delete(answer);
    for (const { node, drafts } of waiting) {
      const end = this.#addSteps(node, drafts, this.endOf(answer));
      if (end !== null) this.#extend(answer, end);
    }
  }

  #extend(answer: string, end: string): void {
    this.#ends.set(answer, end);
    this.#ofStep.set(end, answer);
  }
}

/** By the answer's id. Each call's first result counts, wherever it stands. */
function countResults(nodes: readonly UuidNode[]): Map<string, number> {
  const answers = new Map<string, string>();
  for (const { record, uuid } of nodes) {
    if (record.type !== "assistant") continue;
    for (const block of messageBlocks(record)) {
      const call = block.type === "text" ? undefined : stringAt(block, "id");
      if (call !== undefined) answers.set(call, answerId(record, uuid));
    }
  }
  const counts = new Map<string, number>();
  const seen = new Set<string>();
  for (const { record } of nodes) {
    for (const call of record.type === "user" ? resultIds(record) : []) {
      const answer = answers.get(call);
      if (answer === undefined || seen.has(call)) continue;
      seen.add(call);
      counts.set(answer, (counts.get(answer) ?? 0) + 1);
    }
  }
  return counts;
}

function resultIds(record: Fields): string[] {
  return messageBlocks(record).flatMap((block) =>
    block.type === "tool_result" ? (stringAt(block, "tool_use_id") ?? "") : [],
  );
}
