import { estimateTokens } from "@bonsai-agent/messages";
import { textPart } from "@bonsai-agent/messages/host";
import { shownCount, shownLines } from "../tools/result-text.ts";
import { foldedText } from "./query-terms.ts";
import type { RecalledEntry } from "./recalled-entry.ts";

/** Which part of an entry is wanted; all of it where nothing is said. */
export interface EntryPart {
  /** Lines, from 1, both included; where the first is negative, it counts from the end, and the last lines come first. */
  fromLine?: number | undefined;
  toLine?: number | undefined;
  /** Lines around each place where this text stands, in any case. */
  around?: string | undefined;
}

/** A part of an entry that fits. */
interface OpenedText {
  text: string;
  tokens: number;
  /** Names the missing part of the entry and how to get it; undefined if nothing is missing. */
  left: string | undefined;
}

/** Lines shown before and behind a place. */
const CONTEXT_LINES = 8;

/** The text of an entry, or the part of it that is wanted, within so many tokens. @throws where there is no such part */
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
    left: isAll ? undefined : leftOf(lines, { ranges, wanted, shown: shown.length }),
  };
}

interface FittingLines {
  wanted: number[];
  /** The wanted lines that fit. */
  shown: number[];
  /** The one that is wanted most. */
  first: number;
}

/** Lines around a place never take the room of the place itself. */
function fittingLines(lines: readonly string[], part: EntryPart, maxTokens: number): FittingLines {
  if (part.around !== undefined) {
    const hits = linesWith(lines, part.around);
    const first = hits[0]!;
    for (const around of [CONTEXT_LINES, 1]) {
      const wanted = linesAround(lines, hits, around);
      const shown = fitting(lines, wanted, maxTokens);
      if (shown.includes(first)) return { wanted, shown, first };
    }
    return { wanted: hits, shown: fitting(lines, hits, maxTokens), first };
  }
  const wanted = wantedLines(lines, part);
  if ((part.fromLine ?? 1) > 0)
    return { wanted, shown: fitting(lines, wanted, maxTokens), first: wanted[0]! };
  return { wanted, shown: fittingTail(lines, wanted, maxTokens), first: wanted.at(-1)! };
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

/** Numbers of the lines that hold a text. @throws where none does */
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

function fittingTail(lines: readonly string[], wanted: readonly number[], maxTokens: number): number[] {
  return fitting(lines, wanted.toReversed(), maxTokens).reverse();
}

function rangesOf(shown: readonly number[]): Array<{ from: number; to: number }> {
  const ranges: Array<{ from: number; to: number }> = [];
  for (const at of shown) {
    const last = ranges.at(-1);
    if (last?.to === at - 1) last.to = at;
    else ranges.push({ from: at, to: at });
  }
  return ranges;
}

function leftOf(
  lines: readonly string[],
  {
    ranges,
    wanted,
    shown,
  }: { ranges: ReadonlyArray<{ from: number; to: number }>; wanted: readonly number[]; shown: number },
): string {
  const named = ranges
    .map(({ from, to }) => (from === to ? `${from + 1}` : `${from + 1} to ${to + 1}`))
    .join(", ");
  const which = `Lines ${named} of ${shownCount(lines.length)}.`;
  const next = ranges.at(-1)!.to + 2;
  const isCut = shown < wanted.length;
  if (next <= lines.length)
    return `${which} ${isCut ? "No room for more lines. " : ""}Continue with fromLine ${next}.`;
  return ranges[0]!.from > 0 ? `${which} For earlier lines, use toLine ${ranges[0]!.from}.` : which;
}

/** A line that is too long by itself: the part of it where what is looked for stands, else its beginning. */
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
