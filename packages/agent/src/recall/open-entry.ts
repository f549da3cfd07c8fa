import { estimateTokens } from "@bonsai-agent/messages";
import { textPart } from "@bonsai-agent/messages/host";
import { foldedText } from "@bonsai-agent/session/search";
import { shownCount, shownLines } from "../tools/result-text.ts";
import type { RecalledEntry } from "./recalled-entry.ts";

/** The wanted part of an entry. Default: all of it. */
interface EntryPart {
  /** First line, from 1. A negative number counts from the end, and prefers the last lines. */
  fromLine?: number | undefined;
  /** Last line, from 1. */
  toLine?: number | undefined;
  /** Only the lines around this text, in any case. */
  around?: string | undefined;
}

interface OpenedText {
  text: string;
  tokens: number;
  /** Names the missing part of the entry and how to get it; undefined if nothing is missing. */
  left: string | undefined;
}

/** Lines shown before and after a place. */
const CONTEXT_LINES = 8;

/** Returns the wanted part of an entry, cut to a number of tokens. @throws Error if there is no such part */
export function openedText({ text }: RecalledEntry, part: EntryPart, maxTokens: number): OpenedText {
  const lines = text.split("\n");
  const { wanted, shown, first } = fittingLines(lines, part, maxTokens);
  if (shown.length === 0) return oneLongLine(lines, first, { part, maxTokens });
  const ranges = rangesOf(shown);
  const isAll = shown.length === lines.length;
  const shownText = ranges.map(({ from, to }) => lines.slice(from, to + 1).join("\n")).join("\n[…]\n");
  return {
    text: shownText,
    tokens: estimateTokens(shownText),
    left: isAll ? undefined : leftOf(lines.length, ranges, shown.length < wanted.length),
  };
}

/** Returns the numbers of the wanted lines, of those that fit, and of the most important one. */
function fittingLines(
  lines: readonly string[],
  part: EntryPart,
  maxTokens: number,
): { wanted: number[]; shown: number[]; first: number } {
  if (part.around === undefined) {
    const wanted = wantedLines(lines, part);
    if ((part.fromLine ?? 1) > 0)
      return { wanted, shown: fitting(lines, wanted, maxTokens), first: wanted[0]! };
    const shown = fitting(lines, wanted.toReversed(), maxTokens).reverse();
    return { wanted, shown, first: wanted.at(-1)! };
  }
  const hits = linesWith(lines, part.around);
  const first = hits[0]!;
  // The lines around a hit must leave room for the hit.
  for (const around of [CONTEXT_LINES, 1]) {
    const wanted = linesAround(lines, hits, around);
    const shown = fitting(lines, wanted, maxTokens);
    if (shown.includes(first)) return { wanted, shown, first };
  }
  return { wanted: hits, shown: fitting(lines, hits, maxTokens), first };
}

/** Numbers of lines, from 0, in order. */
function wantedLines(
  { length }: readonly string[],
  { fromLine = 1, toLine }: Omit<EntryPart, "around">,
): number[] {
  const from = fromLine > 0 ? fromLine - 1 : Math.max(0, length + fromLine);
  const to = Math.min(toLine ?? length, length);
  if (from >= length) throw new Error(`fromLine is ${from + 1}, but the entry has ${shownLines(length)}.`);
  if (to <= from) throw new Error(`toLine (${toLine}) is before fromLine (${from + 1}).`);
  return numbers(from, to);
}

/** Numbers of the lines that contain a text. @throws Error if there are none */
function linesWith(lines: readonly string[], around: string): number[] {
  const wanted = foldedText(around);
  const found = lines.flatMap((line, at) => (foldedText(line).includes(wanted) ? [at] : []));
  if (found.length === 0)
    throw new Error(
      `The entry does not contain ${JSON.stringify(around)}. Open it without around, or search with query.`,
    );
  return found;
}

function linesAround({ length }: readonly string[], hits: readonly number[], around: number): number[] {
  const wanted = new Set(
    hits.flatMap((at) => numbers(Math.max(0, at - around), Math.min(length, at + around + 1))),
  );
  return [...wanted].sort((a, b) => a - b);
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, at) => from + at);
}

function fitting(lines: readonly string[], wanted: readonly number[], maxTokens: number): number[] {
  const shown: number[] = [];
  let tokens = 0;
  for (const at of wanted) {
    tokens += estimateTokens(lines[at]!) + 1;
    if (tokens > maxTokens) break;
    shown.push(at);
  }
  return shown;
}

interface Range {
  from: number;
  to: number;
}

function rangesOf(shown: readonly number[]): Range[] {
  const ranges: Range[] = [];
  for (const at of shown) {
    const last = ranges.at(-1);
    if (last?.to === at - 1) last.to = at;
    else ranges.push({ from: at, to: at });
  }
  return ranges;
}

/** Names the shown lines, and how to get the others. */
function leftOf(lineCount: number, ranges: readonly Range[], isCut: boolean): string {
  const named = ranges
    .map(({ from, to }) => (from === to ? `${from + 1}` : `${from + 1} to ${to + 1}`))
    .join(", ");
  const which = `Lines ${named} of ${shownCount(lineCount)}.`;
  const next = ranges.at(-1)!.to + 2;
  if (next <= lineCount)
    return `${which} ${isCut ? "No room for more lines. " : ""}Continue with fromLine ${next}.`;
  return ranges[0]!.from > 0 ? `${which} For earlier lines, use toLine ${ranges[0]!.from}.` : which;
}

/** Cuts a line that is too long to the part around the wanted text, or to its beginning. */
function oneLongLine(
  lines: readonly string[],
  at: number,
  { part, maxTokens }: { part: EntryPart; maxTokens: number },
): OpenedText {
  const line = lines[at]!;
  const place =
    part.around === undefined ? 0 : Math.max(0, foldedText(line).indexOf(foldedText(part.around)));
  let chars = Math.min(line.length, maxTokens * 4);
  const piece = () => {
    const from = Math.max(0, Math.min(place - Math.floor(chars / 2), line.length - chars));
    return { from, text: textPart(line, from, from + chars) };
  };
  while (chars > 1 && estimateTokens(piece().text) > maxTokens) chars = Math.floor(chars * 0.7);
  const { from, text } = piece();
  return {
    text: `${from > 0 ? "…" : ""}${text}${from + chars < line.length ? "…" : ""}`,
    tokens: maxTokens,
    left: `Characters ${shownCount(from + 1)} to ${shownCount(from + chars)} of line ${at + 1}. This line has ${shownCount(line.length)} characters, and the entry has ${shownLines(lines.length)}. Use around to see other parts of this line, or fromLine to see other lines.`,
  };
}
