import { shortened } from "@bonsai-agent/messages";
import { diffArrays } from "diff";

/** Comparing two long passages can take minutes. After this time, the whole passage is replaced. */
const MAX_COMPARE_MS = 1_000;
/** Places that are named when a passage occurs several times. */
const MAX_NAMED_PLACES = 10;

/**
 * Finds the place of each edit in a text with `\n` as line end. Returns the changes in the order of the text.
 * @throws Error with a sentence for the model: a passage is missing, ambiguous, or overlaps another
 */
export function planEdits(
  text: string,
  edits: readonly TextEdit[],
): { changes: TextChange[]; isExact: boolean } {
  const placed = edits.map((edit, index) =>
    place(text, edit, edits.length === 1 ? "The edit" : `Edit ${index + 1} of ${edits.length}`),
  );
  placed.sort((a, b) => a.change.start - b.change.start);
  for (const [index, { name, change }] of placed.entries()) {
    const next = placed[index + 1];
    if (next !== undefined && next.change.start < change.end)
      throw new Error(
        `${name} and ${next.name} overlap in line ${lineAt(text, next.change.start)}. Nothing was changed. Join them into one edit.`,
      );
  }
  return { changes: placed.map(({ change }) => change), isExact: placed.every(({ isExact }) => isExact) };
}

function place(text: string, edit: TextEdit, name: string) {
  const { oldText, newText } = edit;
  if (oldText === "")
    throw new Error(`${name} has an empty oldText. Give the text to replace, or use write.`);
  if (oldText === newText) throw new Error(`${name} changes nothing: oldText and newText are the same.`);
  const { spans, isExact } = matches(text, oldText);
  const [span, ...others] = spans;
  if (span === undefined) throw new Error(`${name} failed: ${notFound(text, edit)} Nothing was changed.`);
  if (others.length > 0) throw new Error(`${name} is ambiguous: ${several(text, spans)}`);
  const found = text.slice(span.start, span.end);
  const replacement = isExact ? newText : keepUnchanged(found, edit);
  return { name, change: { ...span, replacement }, isExact };
}

function several(text: string, spans: readonly Span[]): string {
  const lines = spans.slice(0, MAX_NAMED_PLACES).map(({ start }) => lineAt(text, start));
  const more = spans.length > lines.length ? ` and ${spans.length - lines.length} more` : "";
  const times = spans.length < MAX_PLACES ? spans.length : `at least ${MAX_PLACES}`;
  return `oldText occurs ${times} times (lines ${lines.join(", ")}${more}). Nothing was changed. Add more of the surrounding lines, or send one edit for each place.`;
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}

/** Keeps the lines that the edit does not change as they are in the file. */
function keepUnchanged(found: string, { oldText, newText }: TextEdit): string {
  const foundLines = found.split("\n");
  const parts = diffArrays(oldText.split("\n"), newText.split("\n"), { timeout: MAX_COMPARE_MS });
  if (parts === undefined) return newText;
  let at = 0;
  return parts
    .flatMap(({ added, removed, value }) => {
      if (added) return value;
      at += value.length;
      return removed ? [] : foundLines.slice(at - value.length, at);
    })
    .join("\n");
}

/** A passage to replace, as the model sent it. */
export interface TextEdit {
  oldText: string;
  newText: string;
}

/** The characters from `start` to before `end`. */
interface Span {
  start: number;
  end: number;
}

/** Replaces the characters of a span. */
export interface TextChange extends Span {
  replacement: string;
}

/** Makes changes that are in order and do not overlap. */
export function applyChanges(text: string, changes: readonly TextChange[]): string {
  let changed = "";
  let from = 0;
  for (const { start, end, replacement } of changes) {
    changed += text.slice(from, start) + replacement;
    from = end;
  }
  return changed + text.slice(from);
}

/** Places to find: a passage of one letter may have millions. */
const MAX_PLACES = 1_000;

/**
 * Finds the places of a passage in a text. If there is no exact one, it ignores spaces at line ends, typographic and
 * full-width characters, and the encoding of accents. Indentation and case can carry meaning and always count.
 */
export function matches(text: string, passage: string): { spans: Span[]; isExact: boolean } {
  const exact = placesOf(text, passage);
  if (exact.length > 0 || passage.trim() === "") return { spans: exact, isExact: true };
  const folded = fold(text);
  const spans = placesOf(folded.text, fold(passage).text).map(({ start, end }) => ({
    start: folded.origins[start]!,
    end: folded.origins[end]!,
  }));
  return { spans, isExact: false };
}

function placesOf(text: string, passage: string): Span[] {
  const spans: Span[] = [];
  let at = passage === "" ? -1 : text.indexOf(passage);
  for (; at >= 0 && spans.length < MAX_PLACES; at = text.indexOf(passage, at + 1))
    spans.push({ start: at, end: at + passage.length });
  return spans;
}

/** Replaces typographic and full-width characters, each by one, so that positions stay the same. */
function plainCharacters(text: string): string {
  return plainQuotes(text)
    .replaceAll(/[\u2010-\u2014\u2212]/g, "-")
    .replaceAll(/[\u00a0\u2002\u2003\u2009\u202f\u3000]/g, " ")
    .replaceAll(/[\uff01-\uff5e]/g, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0));
}

/** Spaces at a line end, and a letter with separate accents. The lookbehind keeps long runs of spaces linear. */
const folds = /(?<![^\S\n])[^\S\n]+(?=\n)|\P{M}\p{M}+/gu;

/**
 * Removes spaces at line ends, composes accents and replaces typographic characters. `origins` are the positions of the
 * characters in the text, and of its end.
 */
function fold(text: string): { text: string; origins: number[] } {
  const parts: string[] = [];
  const origins: number[] = [];
  let from = 0;
  const keep = (end: number) => {
    parts.push(text.slice(from, end));
    for (; from < end; from += 1) origins.push(from);
  };
  for (const { 0: found, index } of text.matchAll(folds)) {
    keep(index);
    const composed = found.trim() === "" ? "" : found.normalize("NFC");
    parts.push(composed);
    for (let unit = 0; unit < composed.length; unit += 1)
      origins.push(composed === found ? index + unit : index);
    from = index + found.length;
  }
  keep(text.length);
  origins.push(text.length);
  return { text: plainCharacters(parts.join("")), origins };
}

/** Lines of the nearest passage that are shown. */
const MAX_SHOWN_LINES = 12;
const MAX_SHOWN_CHARS = 200;
/** A line that is more frequent in the passage, like a bracket, does not help to find it. */
const MAX_PLACES_OF_LINE = 20;
/** A shorter newText may be in the file by chance. */
const MIN_TELLING_CHARS = 8;

/** Says why a passage was not found, and shows the nearest text. */
function notFound(text: string, { oldText, newText }: TextEdit): string {
  if (newText.trim().length >= MIN_TELLING_CHARS && text.includes(newText))
    return "oldText does not occur, but newText does: this edit seems to be done already.";
  const lines = text.split("\n");
  const wanted = oldText.split("\n");
  const start = nearestStart(lines, wanted);
  if (start === undefined)
    return "no line of oldText occurs in the file. Read the file again and copy the text from it.";
  const found = lines.slice(start, start + wanted.length);
  const differing = wanted.findIndex((line, index) => line.trimEnd() !== found[index]?.trimEnd());
  const at = Math.max(0, differing);
  return [
    `oldText does not occur. The nearest text starts at line ${start + 1}:`,
    ...shownLines(found, start),
    `The first difference is in line ${start + at + 1} (${difference(wanted[at]!, found[at])}): oldText has ${quoted(wanted[at]!)}, the file has ${quoted(found[at])}.`,
  ].join("\n");
}

/** Start of the lines that are most like the passage. Ignores spacing and case. */
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
  if (found === undefined) return "the file ends earlier";
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
  return shortened(line, MAX_SHOWN_CHARS);
}
