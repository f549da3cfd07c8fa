import { estimateTokens } from "@bonsai-agent/messages";
import { textPart } from "@bonsai-agent/messages/host";
import { foldedText } from "@bonsai-agent/session/search";
import { shownCount, shownLines } from "../tools/result-text.ts";

/** The wanted part of an entry. Default: from its first line. */
interface EntryPart {
  /** First line, from 1. A negative number counts from the end, and prefers the last lines. */
  fromLine?: number | undefined;
  /** Only the lines around this text, in any case. */
  around?: string | undefined;
}

interface OpenedText {
  text: string;
  tokens: number;
  /** Names the missing part of the entry and how to get it; undefined if nothing is missing. */
  left: string | undefined;
}

/** Lines shown before and after a text. */
const CONTEXT_LINES = 8;

/** Returns the wanted part of a text, cut to a number of tokens. @throws Error if there is no such part */
export function openedText(text: string, part: EntryPart, maxTokens: number): OpenedText {
  const lines = text.split("\n");
  const wanted = part.around === undefined ? linesFrom(lines, part) : linesAround(lines, part.around);
  const shown: number[] = [];
  let tokens = 0;
  for (const at of wanted) {
    tokens += estimateTokens(lines[at]!) + 1;
    if (tokens > maxTokens) break;
    shown.push(at);
  }
  if (shown.length === 0) return oneLongLine(lines, wanted[0]!, { part, maxTokens });
  shown.sort((a, b) => a - b);
  const shownText = shown
    .map((at, index) => (at === (shown[index - 1] ?? at - 1) + 1 ? lines[at]! : `[…]\n${lines[at]}`))
    .join("\n");
  const left = shown.length === lines.length ? undefined : leftOf(shown, lines.length);
  return { text: shownText, tokens: estimateTokens(shownText), left };
}

/** Numbers of lines, from 0, most important first. */
function linesFrom({ length }: readonly string[], { fromLine = 1 }: EntryPart): number[] {
  if (fromLine > length) throw new Error(`fromLine is ${fromLine}, but the entry has ${shownLines(length)}.`);
  const from = fromLine > 0 ? fromLine - 1 : Math.max(0, length + fromLine);
  const wanted = Array.from({ length: length - from }, (_, at) => from + at);
  return fromLine > 0 ? wanted : wanted.reverse();
}

/** The lines that contain a text, then their neighbours. @throws Error if there are none */
function linesAround(lines: readonly string[], around: string): number[] {
  const wanted = foldedText(around);
  const hits = lines.flatMap((line, at) => (foldedText(line).includes(wanted) ? [at] : []));
  if (hits.length === 0)
    throw new Error(
      `The entry does not contain ${JSON.stringify(around)}. Open it without around, or search with query.`,
    );
  const distances = Array.from({ length: CONTEXT_LINES }, (_, at) => at + 1);
  const near = distances.flatMap((far) => hits.flatMap((at) => [at - far, at + far]));
  return [...new Set([...hits, ...near])].filter((at) => at >= 0 && at < lines.length);
}

/** Names the shown lines, and how to get the others. */
function leftOf(shown: readonly number[], lineCount: number): string {
  const starts = shown.filter((at, index) => shown[index - 1] !== at - 1);
  const ends = shown.filter((at, index) => shown[index + 1] !== at + 1);
  const named = starts.map((at, index) =>
    at === ends[index] ? `${at + 1}` : `${at + 1} to ${ends[index]! + 1}`,
  );
  const next = ends.at(-1)! + 2;
  const hint =
    next <= lineCount ? `Continue with fromLine ${next}.` : "For earlier lines, use a lower fromLine.";
  return `Lines ${named.join(", ")} of ${shownCount(lineCount)}. ${hint}`;
}

/** Cuts a line that is too long to the part around the wanted text, or to its beginning. */
function oneLongLine(
  lines: readonly string[],
  at: number,
  { part: { around = "" }, maxTokens }: { part: EntryPart; maxTokens: number },
): OpenedText {
  const line = lines[at]!;
  const place = Math.max(0, foldedText(line).indexOf(foldedText(around)));
  let piece = pieceAround(line, place, maxTokens * 4);
  while (piece.length > 1 && estimateTokens(piece.text) > maxTokens)
    piece = pieceAround(line, place, Math.floor(piece.length * 0.7));
  const { from, length, text } = piece;
  return {
    text,
    tokens: maxTokens,
    left: `Characters ${shownCount(from + 1)} to ${shownCount(from + length)} of line ${at + 1}. This line has ${shownCount(line.length)} characters, and the entry has ${shownLines(lines.length)}. Use around to see other parts of this line, or fromLine to see other lines.`,
  };
}

/** Cuts a line to some characters around a place. */
export function pieceAround(
  line: string,
  place: number,
  maxCharacters: number,
): { from: number; length: number; text: string } {
  const length = Math.min(line.length, maxCharacters);
  const from = Math.max(0, Math.min(place - Math.floor(length / 2), line.length - length));
  const [before, after] = [from > 0 ? "…" : "", from + length < line.length ? "…" : ""];
  return { from, length, text: `${before}${textPart(line, from, from + length)}${after}` };
}
