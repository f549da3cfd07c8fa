import {
  type AssistantContent,
  emptyUsage,
  jsonText,
  shortened,
  type UserContent,
} from "@bonsai-agent/messages";
import type { StoredMessage } from "@bonsai-agent/session";

/** The rules of a message format. */
export interface Format {
  /** Undefined for a message that no compaction may replace: a system message, or one of an unknown kind. */
  side?(message: object): Side | undefined;
  /** The pieces of a message, one for each part of its content. */
  read(message: object): Piece[];
  /** A copy of a message with another text as a result. */
  withResult(message: object, part: number, text: string): object;
  /** A copy of a user message with another text. Default: the text is the whole content. */
  withText?(message: object, text: string): object;
  /** The content of a new user message. Default: the text. */
  content?(text: string): unknown;
  /** True if the API refuses a part of an answer that consists of several messages. */
  joinsAnswers?: true;
  /** For an API whose list begins with a user message and alternates roles: separates the summary from a user message. */
  acknowledgement?: string;
}

type Side = "input" | "answer";

/** A part of any SDK's message. */
export type Part = Readonly<Record<string, unknown>> & { readonly type: string };

/** A part of a message in the terms of the engine. */
export type Piece =
  | { kind: "content"; id?: never; blocks: UserContent[] }
  | { kind: "thinking"; id?: never; text: string }
  | { kind: "call"; id: string; name: string; input: unknown }
  | { kind: "result"; id: string; blocks: UserContent[]; isError?: boolean }
  /** A question to the user about a call. */
  | { kind: "request"; id: string; callId: string }
  | { kind: "decision"; id: string; isApproved: boolean; reason: string };

/** A message of Bonsai. */
export interface UnitEntry {
  readonly message: StoredMessage;
  /** The part of the SDK's message with this result. Absent for a text that no mask can replace. */
  readonly part?: number;
}

/** Messages of an SDK that a compaction keeps or replaces together. */
export interface Unit {
  readonly originals: readonly object[];
  /**
   * A message of the user or the model, then results. Between a call and its results no cut is legal, so no cut divides a
   * unit. Undefined if no compaction may replace the unit.
   */
  readonly entries: readonly UnitEntry[] | undefined;
}

export function unitsOf(messages: readonly object[], format: Format): Unit[] {
  const { side: sideOf = sideOfRole, joinsAnswers } = format;
  const groups: Array<{ side: Side | undefined; originals: object[] }> = [];
  for (const message of messages) {
    const side = sideOf(message);
    const last = groups.at(-1);
    if (joinsAnswers && side === "answer" && last?.side === side) last.originals.push(message);
    else groups.push({ side, originals: [message] });
  }
  const names = new Map<string, string>();
  return groups.map(({ side, originals }) => {
    const pieces = originals.flatMap((message) => format.read(message));
    return { originals, entries: side && entriesOf(side, pieces, names) };
  });
}

function sideOfRole(message: object): Side | undefined {
  const role = textField(message, "role");
  if (role === "assistant") return "answer";
  return ["user", "tool", "function"].includes(role) ? "input" : undefined;
}

/** @param names the tool of each call and request so far */
function entriesOf(side: Side, pieces: readonly Piece[], names: Map<string, string>): UnitEntry[] {
  const blocks: Array<UserContent | AssistantContent> = [];
  const results: UnitEntry[] = [];
  pieces.forEach((piece, part) => {
    const { id = "" } = piece;
    const name = names.get(piece.kind === "request" ? piece.callId : id) ?? "tool";
    if (piece.kind === "content") blocks.push(...piece.blocks);
    else if (piece.kind === "thinking") blocks.push({ type: "thinking", thinking: piece.text });
    else if (piece.kind === "call") {
      names.set(id, piece.name);
      blocks.push({ type: "toolCall", id, name: piece.name, arguments: callArguments(piece.input) });
    } else if (piece.kind === "request") {
      names.set(id, name);
      blocks.push({ type: "toolCall", id, name: "approval", arguments: {} });
    } else if (piece.kind === "decision") {
      const text = `${piece.isApproved ? "Approved" : "Denied"} the call of ${name}`;
      // The reason is in the user's own words.
      if (piece.reason !== "") blocks.push(textBlock(`${text}: ${piece.reason}`));
      results.push({ message: toolResult(id, "approval", [textBlock(text)]) });
    } else if (side === "input") {
      results.push({ message: toolResult(id, name, piece.blocks, piece.isError), part });
    } else {
      // The provider owns the results of its tools: they stay in the answer.
      const isInside = blocks.some((block) => block.type === "toolCall" && block.id === id);
      blocks.push(...piece.blocks);
      if (!isInside) results.push({ message: toolResult(id, name, []) });
    }
  });
  if (side === "answer") return [{ message: answerOf(blocks) }, ...results];
  if (blocks.length === 0 && results.length > 0) return results;
  return [{ message: { role: "user", content: blocks as UserContent[], timestamp: 0 } }, ...results];
}

function answerOf(blocks: ReadonlyArray<UserContent | AssistantContent>): StoredMessage {
  const content = blocks.filter((block) => block.type !== "image");
  const stopReason = content.some(({ type }) => type === "toolCall") ? "toolUse" : "stop";
  const origin = { api: "", provider: "", model: "", usage: emptyUsage(), timestamp: 0 };
  return { role: "assistant", content, stopReason, ...origin };
}

function toolResult(id: string, toolName: string, content: UserContent[], isError = false): StoredMessage {
  return { role: "toolResult", toolCallId: id, toolName, content, isError, timestamp: 0 };
}

/** The arguments of a call. A model's malformed JSON stays readable. */
function callArguments(input: unknown = {}): Record<string, unknown> {
  if (typeof input === "object" && input !== null && !Array.isArray(input)) return { ...input };
  if (typeof input !== "string") return { input };
  try {
    return callArguments(JSON.parse(input));
  } catch {
    return { input };
  }
}

/** The parts of a content value. A string is one text part. */
export function partsOf(content: unknown): Part[] {
  if (typeof content === "string") return [textBlock(content)];
  return Array.isArray(content) ? content.filter((part) => typeof part?.type === "string") : [];
}

/** A field of an object with unknown fields. */
export function field(object: unknown, name: string): unknown {
  return (object as Readonly<Record<string, unknown>> | null | undefined)?.[name];
}

/** A field as text; empty for a missing one. */
export function textField(object: unknown, name: string): string {
  const value = field(object, name);
  return typeof value === "string" ? value : "";
}

export function textBlock(text: string): { type: "text"; text: string } {
  return { type: "text", text };
}

/** A copy of a message with another part in its content. */
export function withPart(message: object, at: number, change: (part: Part) => object): object {
  const content = field(message, "content") as Part[];
  return { ...message, content: content.with(at, { ...content[at]!, ...change(content[at]!) }) };
}

/** The content of any value: text, parts, or JSON. */
export function blocksOf(value: unknown): UserContent[] {
  const isContent = typeof value === "string" || Array.isArray(value);
  return isContent ? partsOf(value).flatMap((part) => contentOf(part)) : [textBlock(jsonText(value))];
}

const MAX_PART_CHARS = 2_000;

/** The content of a part of any format. Unknown parts are shown as JSON. */
export function contentOf(part: Part, label = part.type): UserContent[] {
  if (/^(?:input_|output_)?text$/.test(part.type)) return [textBlock(textField(part, "text"))];
  if (part.type === "refusal") return [textBlock(textField(part, "refusal"))];
  if (/image|file|document|audio|media/.test(part.type)) return mediaContent(part);
  return [textBlock(shortened(`[${label}] ${jsonText(part)}`, MAX_PART_CHARS))];
}

/** Names an image or file for the record. A file counts as one image, because its pages are unknown. */
function mediaContent(part: Part): UserContent[] {
  const source = part.source ?? part.data ?? part.file ?? part.input_audio;
  const mimeType =
    textField(part, "mediaType") || textField(source, "media_type") || textField(source, "format");
  const name = textField(part, "filename") || textField(source, "filename") || textField(part, "title");
  const isImage = /image/.test(part.type) || mimeType.startsWith("image");
  const type = isImage ? "image" : (/file|document|audio/.exec(part.type)?.[0] ?? "file");
  const names = [name, mimeType].filter((each) => each !== "").join(", ");
  // The engine names an image block by itself.
  const label = isImage && names === "" ? [] : [textBlock(`[${names === "" ? type : `${type}: ${names}`}]`)];
  const isText = field(source, "type") === "text";
  const text = () => textBlock(textField(source, "text") || textField(source, "data"));
  return [...label, isText ? text() : { type: "image", data: "", mimeType: mimeType || type }];
}
