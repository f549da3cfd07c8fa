import type { TextEdit } from "./text-edit.ts";

/** Lines of the nearest passage that are shown. */
const MAX_SHOWN_LINES = 12;
const MAX_SHOWN_CHARS = 200;
/** A line that the passage has more often, like a bracket, tells of few places. */
const MAX_PLACES_OF_LINE = 20;
/** A shorter newText can stand in the file for any reason. */
const MIN_TELLING_CHARS = 8;

/** Why a passage was not found, with what comes nearest to it. */
export function notFound(text: string, { oldText, newText }: TextEdit): string {
  if (newText.trim().length >= MIN_TELLING_CHARS && text.includes(newText)) {
    return "oldText does not occur, but newText does: it seems to be made already.";
  }
  const lines = text.split("\n");
  const wanted = oldText.split("\n");
  const start = nearestStart(lines, wanted);
  if (start === undefined) {
    return "no line of oldText occurs in the file. Read the file again and copy the passage from it.";
  }
  const found = lines.slice(start, start + wanted.length);
  const differing = wanted.findIndex((line, index) => line.trimEnd() !== found[index]?.trimEnd());
  const at = Math.max(0, differing);
  return [
    `oldText does not occur. Nearest, from line ${start + 1}:`,
    ...shownLines(found, start),
    `It differs first in line ${start + at + 1} (${difference(wanted[at]!, found[at])}): oldText has ${quoted(wanted[at]!)}, the file has ${quoted(found[at])}.`,
  ].join("\n");
}

/** Where most lines of the passage fit, spacing and case aside. */
function nearestStart(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const places = new Map<string, number[]>();
  for (const [index, line] of wanted.entries()) {
    const key = essence(line);
    const known = places.get(key);
    if (known === undefined && key !== "") places.set(key, [index]);
    else if (known !== undefined && known.length < MAX_PLACES_OF_LINE) known.push(index);
  }
  const votes = new Map<number, number>();
  for (const [index, line] of lines.entries()) {
    const key = essence(line);
    for (const place of places.get(key) ?? []) {
      const start = Math.max(0, index - place);
      votes.set(start, (votes.get(start) ?? 0) + key.length);
    }
  }
  let best: number | undefined;
  for (const [start, weight] of votes) if (best === undefined || weight > votes.get(best)!) best = start;
  return best;
}

function essence(line: string): string {
  return plainQuotes(line).replaceAll(/\s+/g, "").toLowerCase();
}

function plainQuotes(text: string): string {
  return text.replaceAll(/[\u2018\u2019\u201a]/g, "'").replaceAll(/[\u201c\u201d\u201e]/g, '"');
}

function difference(wanted: string, found: string | undefined): string {
  if (found === undefined) return "the file ends before";
  if (wanted.trimStart() === found.trimStart()) return "only the indentation";
  if (wanted.replaceAll(/\s+/g, "") === found.replaceAll(/\s+/g, "")) return "only the spaces";
  if (plainQuotes(wanted) === plainQuotes(found)) return "only the quotes";
  if (wanted.toLowerCase() === found.toLowerCase()) return "only upper and lower case";
  return "the text";
}

function quoted(line: string | undefined): string {
  return line === undefined ? "nothing" : JSON.stringify(short(line));
}

function shownLines(lines: readonly string[], start: number): string[] {
  const shown = lines.slice(0, MAX_SHOWN_LINES).map((line, index) => `${start + index + 1}: ${short(line)}`);
  return lines.length > shown.length ? [...shown, `… ${lines.length - shown.length} more`] : shown;
}

function short(line: string): string {
  return line.length > MAX_SHOWN_CHARS ? `${line.slice(0, MAX_SHOWN_CHARS).toWellFormed()}…` : line;
}
