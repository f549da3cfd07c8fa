import { stripVTControlCharacters } from "node:util";
import type { Message, ToolCall } from "../message.ts";

// Everything here is total: content that is missing, null or odd, as damaged and hand-edited files have
// it, reads as empty.

/** The blocks of a content value; a string is one text block, a missing or damaged value is none. */
export function contentBlocks(content: unknown): Array<Record<string, unknown> & { type: string }> {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return content.filter(
    (block) => typeof block === "object" && block !== null && typeof block.type === "string",
  );
}

/** The text of a content value, blocks joined by newlines; thinking, calls and images are left out. */
export function contentText(content: unknown): string {
  return contentBlocks(content)
    .map((block) => (block.type === "text" ? stringOr(block.text, "") : ""))
    .filter((text) => text !== "")
    .join("\n");
}

/** The tool calls of a message, in order, each with an id, a name and arguments; none for any but an assistant. */
export function toolCalls(message: Message): ToolCall[] {
  if (message?.role !== "assistant") return [];
  return contentBlocks(message.content)
    .filter((block) => block.type === "toolCall")
    .map((block) => (isSound(block) ? block : mended(block)));
}

/** The text a message says to the model, without thinking, calls and images. */
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

/** How a command run by the user reads in the model's context. */
export function bashExecutionText(message: {
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

/**
 * A value as JSON, for showing and counting. Total: what JSON cannot hold (a cycle, a BigInt) cannot reach a
 * model either and is empty; what is nested deeper than the stack reaches is named in a few words.
 */
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
 * A text without what steers a terminal. Node's own function looks for the end of each title or link that is set from
 * its beginning, so its time grows with the square of how many have none: those are taken out before.
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

/**
 * Characters that set the direction of the text around them, and tag characters, which nobody sees and models read. Joiners
 * and selectors of emoji and scripts are not among them.
 */
export const hiddenCharacters: RegExp =
  /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|[\u{e0000}-\u{e00ff}\u{e01f0}-\u{e0fff}]/gu;

/** With every escape before it, so that what is left on both sides makes no new one. */
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

/** True for an object that is no array: its fields can be asked for, nothing is known of them. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function stringOr(value: unknown, fallback: string): string {
  return typeof value === "string" ? value : fallback;
}

/** Deeper than anything that is written on purpose; far below the depth at which JSON can no longer be written. */
export const MAX_LEVELS = 200;

/** True for a value that is nested deeper than `MAX_LEVELS`: it can be read, but not be stored, copied and sent. */
export function isTooDeep(value: unknown, levels = MAX_LEVELS): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isTooDeep(inner, levels - 1));
}

/** A copy of a value, however deep it is nested: `structuredClone` ends where the stack does. */
export function deepCopy<Value>(value: Value): Value {
  try {
    return structuredClone(value);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return copyByLevels(value);
  }
}

/** For what was read from JSON: nothing in it is met twice. */
function copyByLevels<Value>(value: Value): Value {
  const holder: [Value] = [value];
  const open: object[] = [holder];
  for (const copy of open) {
    for (const [key, inner] of Object.entries(copy)) {
      if (typeof inner !== "object" || inner === null) continue;
      const copied: object = Array.isArray(inner) ? [...inner] : { ...inner };
      // `__proto__` may stand in a file; assigned, it would be no field any more.
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

const OPEN = "<system-reminder>";
const CLOSE = "</system-reminder>";

/** The text without what a program, not a person, added to it: such reminders must not become history. */
export function withoutReminders(text: string): string {
  let kept = "";
  let from = 0;
  for (let open = text.indexOf(OPEN); open >= 0; open = text.indexOf(OPEN, from)) {
    const close = text.indexOf(CLOSE, open);
    if (close < 0) break;
    kept += text.slice(from, open);
    from = close + CLOSE.length;
    while (from < text.length && text[from]!.trim() === "") from += 1;
  }
  return kept + text.slice(from);
}

/** Minimum likeness of a candidate, from 0 to 1. */
const MIN_LIKENESS = 0.35;

/** The candidates closest to a mistyped word, closest first. */
export function nearest(word: string, candidates: readonly string[], count: number): string[] {
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

function pairsOf(word: string): Set<string> {
  const letters = word.toLowerCase().replace(/[^a-z0-9]/g, "");
  return new Set(
    Array.from({ length: Math.max(0, letters.length - 1) }, (_, at) => letters.slice(at, at + 2)),
  );
}
