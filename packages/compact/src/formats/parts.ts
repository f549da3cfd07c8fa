import {
  type AssistantContent,
  emptyUsage,
  jsonText,
  shortened,
  type UserContent,
} from "@bonsai-agent/messages";
import type { StoredMessage } from "@bonsai-agent/session";

/** A message of an SDK, as the engine reads it. */
export interface Converted {
  /** Oldest first, with the content part of each. Empty if an earlier item of the same answer has the content. */
  readonly entries: ReadonlyArray<{ readonly message: StoredMessage; readonly part?: number }>;
  /** Pairs that begin here, such as a tool call. */
  readonly opens: readonly string[];
  /** Pairs that end here, such as a tool result. */
  readonly closes: readonly string[];
}

/** The rules of a message format. */
export interface Converter {
  /** Undefined for a message that no compaction may replace: a system message, or one of an unknown kind. */
  convert(messages: readonly object[]): Array<Converted | undefined>;
  /** A copy of a message with another text as a result. */
  withResult(message: object, part: number, text: string): object;
  /** A copy of a user message with another text as its content. */
  withText(message: object, text: string): object;
  /** The messages that show a summary before `next`. */
  summary(text: string, next: object | undefined): object[];
}

/** A part of any SDK's message. */
export type Part = Readonly<Record<string, unknown>> & { readonly type: string };

/** A part of a message in the terms of the engine. */
export type Piece =
  | { kind: "content"; blocks: UserContent[] }
  | { kind: "thinking"; text: string }
  /** The provider of a `server` call owns the result, so nothing may mask it. */
  | { kind: "call"; id: string; name: string; input: unknown; isServer?: boolean }
  | { kind: "result"; id: string; blocks: UserContent[]; isError?: boolean }
  /** A question to the user about a call. */
  | { kind: "request"; id: string; callId: string }
  | { kind: "decision"; id: string; isApproved: boolean; reason: string };

/** @param names the tool of each call and request so far */
export function convertAnswer(pieces: readonly Piece[], names: Map<string, string>): Converted {
  const [opens, closes]: [string[], string[]] = [[], []];
  const content = pieces.flatMap((piece): AssistantContent[] => {
    if (piece.kind === "thinking") return [{ type: "thinking", thinking: piece.text }];
    if (piece.kind === "content") return piece.blocks.filter((block) => block.type === "text");
    if (piece.kind === "request") names.set(piece.id, names.get(piece.callId) ?? "a tool");
    if (piece.kind === "result" || piece.kind === "decision") {
      closes.push(piece.id);
      return piece.kind === "result" ? piece.blocks.filter((block) => block.type === "text") : [];
    }
    opens.push(piece.id);
    if (piece.kind === "request") return [];
    const { id, name, input } = piece;
    names.set(id, name);
    if (piece.isServer) return [textBlock(`[${name}] ${jsonText(input)}`)];
    return [{ type: "toolCall", id, name, arguments: callArguments(input) }];
  });
  const stopReason = content.some(({ type }) => type === "toolCall") ? "toolUse" : "stop";
  const origin = { api: "", provider: "", model: "", usage: emptyUsage(), timestamp: 0 };
  return { entries: [{ message: { role: "assistant", content, stopReason, ...origin } }], opens, closes };
}

/** Converts a message of the user's side: results, decisions, and one message with the rest. */
export function convertInput(pieces: readonly Piece[], names: ReadonlyMap<string, string>): Converted {
  const entries: Array<{ message: StoredMessage; part?: number }> = [];
  const closes: string[] = [];
  const said: UserContent[] = [];
  pieces.forEach((piece, part) => {
    if (piece.kind === "content") said.push(...piece.blocks);
    if (piece.kind !== "result" && piece.kind !== "decision") return;
    closes.push(piece.id);
    const name = names.get(piece.id) ?? "tool";
    const message = piece.kind === "decision" ? decision(piece, name) : toolResult(piece, name);
    entries.push({ message, part });
  });
  if (said.length > 0 || entries.length === 0) entries.push({ message: userMessage(said) });
  return { entries, opens: [], closes };
}

function userMessage(content: UserContent[]): StoredMessage {
  return { role: "user", content, timestamp: 0 };
}

function toolResult(
  { id, blocks, isError = false }: Piece & { kind: "result" },
  toolName: string,
): StoredMessage {
  return { role: "toolResult", toolCallId: id, toolName, content: blocks, isError, timestamp: 0 };
}

/** The reason of a decision is in the user's own words. */
function decision({ isApproved, reason }: Piece & { kind: "decision" }, name: string): StoredMessage {
  const content = `${isApproved ? "Approved" : "Denied"} the call of ${name}${reason === "" ? "" : `: ${reason}`}`;
  if (reason !== "") return userMessage([textBlock(content)]);
  return { role: "custom", customType: "tool approval", content, display: true, timestamp: 0 };
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

/** Names an image or file for the record. An image has a block that counts its size. */
function mediaContent(part: Part): UserContent[] {
  const source = part.source ?? part.data ?? part.file ?? part.input_audio;
  const mimeType =
    textField(part, "mediaType") || textField(source, "media_type") || textField(source, "format");
  const name = textField(part, "filename") || textField(source, "filename") || textField(part, "title");
  const isImage = /image/.test(part.type) || mimeType.startsWith("image");
  const type = isImage ? "image" : (/file|document|audio/.exec(part.type)?.[0] ?? "file");
  const names = [name, mimeType].filter((each) => each !== "").join(", ");
  const isInline = field(source, "type") === "text";
  const inline = isInline ? [textBlock(textField(source, "text") || textField(source, "data"))] : [];
  const sized = { type: "image", data: "", mimeType: mimeType || "image" } as const;
  // The engine names an image block by itself.
  const label = isImage && names === "" ? [] : [textBlock(`[${names === "" ? type : `${type}: ${names}`}]`)];
  return [...label, ...(isImage ? [sized] : []), ...inline];
}

/** The converter of a format with one message for each turn of a side. */
export function converterOf(format: {
  /** The pieces of a message, one for each part of its content. */
  read(message: object): Piece[];
  withResult: Converter["withResult"];
  withText?: Converter["withText"];
  summary?: Converter["summary"];
}): Converter {
  return {
    withText: (message, text) => ({ ...message, content: text }),
    summary: (text) => [{ role: "user", content: text }],
    ...format,
    convert(messages) {
      const names = new Map<string, string>();
      return messages.map((message) => {
        const role = textField(message, "role");
        if (role === "assistant") return convertAnswer(format.read(message), names);
        return INPUT_ROLES.has(role) ? convertInput(format.read(message), names) : undefined;
      });
    },
  };
}

const INPUT_ROLES: ReadonlySet<string> = new Set(["user", "tool", "function"]);
