import { stripVTControlCharacters } from "node:util";
import type { Message, ToolCall } from "../message.ts";

// All functions are total: missing and damaged content reads as empty.

/** The blocks of a content value. A string is one text block. */
export function contentBlocks(content: unknown): Array<Record<string, unknown> & { type: string }> {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return content.filter(
    (block) => typeof block === "object" && block !== null && typeof block.type === "string",
  );
}

/** The text blocks of a content value, joined by newlines. Leaves out thinking, calls and images. */
export function contentText(content: unknown): string {
  let joined = "";
  for (const block of contentBlocks(content)) {
    const text = block.type === "text" ? stringOr(block.text, "") : "";
    joined += joined === "" || text === "" ? text : `\n${text}`;
  }
  return joined;
}

/** The tool calls of an assistant message in order, each with an id, a name and arguments. */
export function callsIn(message: Message): ToolCall[] {
  if (message?.role !== "assistant") return [];
  return contentBlocks(message.content)
    .filter((block) => block.type === "toolCall")
    .map((block) => (isSound(block) ? block : mended(block)));
}

/**
 * Pairs tool results with their calls, message by message, oldest first. Keeps the calls only, no message.
 *
 * Invariant: a result belongs to the latest earlier call with its id.
 */
export class CallPairs {
  readonly #calls = new Map<string, { call: ToolCall; callIndex: number }>();
  #count = 0;

  /** Reads the next message. Returns the call that it is a result of; undefined for other messages and unknown calls. */
  add(message: Message): { call: ToolCall; callIndex: number } | undefined {
    for (const call of callsIn(message)) this.#calls.set(call.id, { call, callIndex: this.#count });
    this.#count += 1;
    return message?.role === "toolResult" ? this.#calls.get(message.toolCallId) : undefined;
  }
}

/** The text of a message for the model, without thinking, calls and images. */
export function messageText(message: Message): string {
  switch (message?.role) {
    case undefined:
      return "";
    case "bashExecution":
      return bashExecutionText(message);
    case "branchSummary":
    case "compactionSummary":
      return stringOr(message.summary, "");
    default:
      return contentText(message.content);
  }
}

/** The text of a user's command in the model's context. */
function bashExecutionText(message: {
  command: string;
  output: string;
  exitCode?: number | undefined;
  cancelled: boolean;
}): string {
  const { cancelled, exitCode } = message;
  const failed = typeof exitCode === "number" && exitCode !== 0 ? `\n(exit code ${exitCode})` : "";
  const output = stringOr(message.output, "") || "(no output)";
  return `$ ${stringOr(message.command, "")}\n${output}${cancelled ? "\n(cancelled)" : failed}`;
}

/** A value as JSON, for screens and counts. Total: empty for a cycle or a BigInt, a note for too deep nesting. */
export function jsonText(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, undefined, indent) ?? "";
  } catch (error) {
    if (error instanceof TypeError) return "";
    if (error instanceof RangeError) return '"[nested too deeply to show]"';
    throw error;
  }
}

/**
 * A text without control sequences of terminals. Removes titles and links without an end first: Node's function would take
 * quadratic time for them.
 */
export function withoutTerminalControls(text: string): string {
  if (!text.includes("\u001b") && !text.includes("\u009b")) return text;
  let kept = "";
  let from = 0;
  let isEnded = true;
  for (const { 0: opener, index } of text.matchAll(COMMAND_OPENER)) {
    if (index < from) continue;
    kept += text.slice(from, index);
    from = index + opener.length;
    COMMAND_END.lastIndex = from;
    isEnded &&= COMMAND_END.test(text);
    if (isEnded) from = COMMAND_END.lastIndex;
  }
  return stripVTControlCharacters(kept + text.slice(from));
}

/** Invisible characters that models read: marks of text direction and tag characters. Not joiners and selectors of emoji. */
export const hiddenCharacters: RegExp =
  /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|[\u{e0000}-\u{e00ff}\u{e01f0}-\u{e0fff}]/gu;

/** Includes all escapes before it, so that the rest forms no new opener. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const COMMAND_OPENER = /(?<!\u001b)\u001b+\]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const COMMAND_END = /\u0007|\u001b\\|\u009c/g;

function isSound(block: Record<string, unknown>): block is Record<string, unknown> & ToolCall {
  return typeof block.id === "string" && typeof block.name === "string" && isRecord(block.arguments);
}

function mended(block: Record<string, unknown>): ToolCall {
  return {
    ...block,
    type: "toolCall",
    id: stringOr(block.id, ""),
    name: stringOr(block.name, ""),
    arguments: isRecord(block.arguments) ? block.arguments : {},
  };
}

/** True for an object that is no array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function stringOr(value: unknown, fallback: string): string {
  return typeof value === "string" ? value : fallback;
}

/** Maximum nesting of JSON values. Real values are flatter, and JSON.stringify fails only far deeper. */
export const MAX_LEVELS = 200;

/** Says that a value is nested too deep to be stored, copied and sent; undefined for other values. */
export function jsonDepthProblem(value: unknown): string | undefined {
  return exceeds(value, MAX_LEVELS) ? `nested deeper than ${MAX_LEVELS} levels` : undefined;
}

function exceeds(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => exceeds(inner, levels - 1));
}

/** A copy of a value of any depth. `structuredClone` is limited by the stack. */
export function deepCopy<Value>(value: Value): Value {
  try {
    return structuredClone(value);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return copyByLevels(value);
  }
}

/** Copies a value from JSON, which has no shared parts. */
function copyByLevels<Value>(value: Value): Value {
  const holder: [Value] = [value];
  const open: object[] = [holder];
  for (const copy of open) {
    for (const [key, inner] of Object.entries(copy)) {
      if (typeof inner !== "object" || inner === null) continue;
      const copied: object = Array.isArray(inner) ? [...inner] : { ...inner };
      // An assignment to `__proto__` would not make a field.
      Object.defineProperty(copy, key, {
        value: copied,
        enumerable: true,
        configurable: true,
        writable: true,
      });
      open.push(copied);
    }
  }
  return holder[0];
}

/** A text without the reminders that a program added, and these reminders. Linear. */
export function splitReminders(text: string): { own: string; reminders: string[] } {
  const reminders: string[] = [];
  const unclosed = new Set<string>();
  let own = "";
  let from = 0;
  for (const { 1: tag = "", index } of text.matchAll(/<(system[-_]reminder)>/g)) {
    if (index < from || unclosed.has(tag)) continue;
    const close = `</${tag}>`;
    const at = text.indexOf(close, index);
    if (at < 0) unclosed.add(tag);
    else {
      own += text.slice(from, index);
      from = at + close.length;
      reminders.push(text.slice(index, from));
      while (from < text.length && text[from]!.trim() === "") from += 1;
    }
  }
  return { own: own + text.slice(from), reminders };
}

/** Minimum likeness of a candidate, from 0 to 1. */
const MIN_LIKENESS = 0.35;

/** The candidates closest to a mistyped word, closest first. */
export function closestNames(word: string, candidates: readonly string[], count: number): string[] {
  const wanted = pairsOf(word);
  return candidates
    .map((candidate) => ({ candidate, likeness: likeness(wanted, pairsOf(candidate)) }))
    .filter((scored) => scored.likeness >= MIN_LIKENESS)
    .sort((a, b) => b.likeness - a.likeness)
    .slice(0, count)
    .map((scored) => scored.candidate);
}

/** Dice's coefficient of the pairs of letters: 1 for the same pairs, 0 for none in common. */
function likeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const common = [...a].filter((pair) => b.has(pair)).length;
  return a.size + b.size === 0 ? 0 : (2 * common) / (a.size + b.size);
}

/** Pairs of neighbours, and of letters with one between them: two letters in the wrong order change few of both. */
function pairsOf(word: string): Set<string> {
  const letters = word.toLowerCase().replace(/[^a-z0-9]/g, "");
  const pairs = [...letters].flatMap((letter, at) =>
    [letters[at + 1], letters[at + 2]].flatMap((next) => (next === undefined ? [] : [letter + next])),
  );
  return new Set(pairs);
}

/** The first `maxChars` UTF-16 units of a text. Drops a character that the cut would split. */
export function textHead(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : text.slice(0, characterEdge(text, Math.max(0, maxChars), -1));
}

/** The last `maxChars` UTF-16 units of a text. Drops a character that the cut would split. */
export function textTail(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return text.slice(characterEdge(text, text.length - Math.max(0, maxChars), 1));
}

/** A part of a text. Drops the characters that its ends would split. */
export function textPart(text: string, from: number, to: number): string {
  const start = characterEdge(text, Math.max(0, from), 1);
  return text.slice(start, Math.max(start, characterEdge(text, Math.min(to, text.length), -1)));
}

/** Shortens a text to `maxChars` UTF-16 units. A shortened text ends with `…`. */
export function shortened(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${textHead(text, maxChars - 1).trimEnd()}…`;
}

/** Marks, joiners, selectors and skin tones belong to the character before them. */
const JOINED = /^(?:\p{M}|\p{Emoji_Modifier}|\u200d)/u;
const JOINER = "\u200d";
/** Maximum length of a character with its marks. A longer run is cut. */
const MAX_CHARACTER_UNITS = 32;

/** The nearest place that splits no character: this one, or a later (1) or earlier (-1) one. */
function characterEdge(text: string, at: number, step: 1 | -1): number {
  let edge = at;
  while (edge > 0 && edge < text.length && Math.abs(edge - at) < MAX_CHARACTER_UNITS && splits(text, edge))
    edge += step;
  return splitsPair(text, edge) ? edge + step : edge;
}

function splits(text: string, at: number): boolean {
  if (splitsPair(text, at)) return true;
  return text[at - 1] === JOINER || JOINED.test(text.slice(at, at + 2));
}

function splitsPair(text: string, at: number): boolean {
  return at > 0 && /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1));
}
