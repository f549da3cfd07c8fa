import { shortened } from "@bonsai-agent/messages";
import { diffArrays } from "diff";

/** To find what two long passages share can take minutes; then all of the passage counts as touched. */
const MAX_COMPARE_MS = 1_000;
/** Places that are named when a passage occurs several times. */
const MAX_NAMED_PLACES = 10;

interface EditPlan {
  /** In the order of the text. */
  changes: TextChange[];
  /** Ignored differences. */
  tolerated: Tolerance[];
}

/**
 * Finds where each edit goes in the text as it is given, whose line ends are `\n`.
 * Throws a sentence for the model when a passage is not found, is found more than once, or overlaps another.
 */
export function planEdits(text: string, edits: readonly TextEdit[]): EditPlan {
  const placed = edits.map((edit, index) => place(text, edit, nameOf(index, edits.length)));
  placed.sort((a, b) => a.span.start - b.span.start);
  for (const [index, { name, span }] of placed.entries()) {
    const next = placed[index + 1];
    if (next !== undefined && next.span.start < span.end) {
      throw new Error(
        `${name} and ${next.name} overlap in line ${lineAt(text, next.span.start)}. Nothing was changed. Join them into one edit.`,
      );
    }
  }
  const tolerated = new Set(placed.flatMap((one) => one.tolerated));
  return {
    changes: placed.map(({ span, replacement }) => ({ ...span, replacement })),
    tolerated: [...tolerated],
  };
}

interface PlacedEdit {
  name: string;
  span: Span;
  replacement: string;
  tolerated: Tolerance[];
}

function nameOf(index: number, count: number): string {
  return count === 1 ? "The edit" : `Edit ${index + 1} of ${count}`;
}

function place(text: string, edit: TextEdit, name: string): PlacedEdit {
  const { oldText, newText } = edit;
  if (oldText === "")
    throw new Error(`${name} has an empty oldText. Give the text to replace, or use write.`);
  if (oldText === newText) throw new Error(`${name} changes nothing: oldText and newText are the same.`);
  const { spans, tolerated } = matches(text, oldText);
  const [span, ...others] = spans;
  if (span === undefined) throw new Error(`${name} failed: ${notFound(text, edit)} Nothing was changed.`);
  if (others.length > 0) throw new Error(`${name} is ambiguous: ${several(text, spans)}`);
  const found = text.slice(span.start, span.end);
  const replacement = tolerated.length === 0 ? newText : keepUnchanged(found, edit);
  return { name, span, replacement, tolerated };
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

/** Lines that the edit does not touch stay as they are in the file, whatever was overlooked in them. */
function keepUnchanged(found: string, { oldText, newText }: TextEdit): string {
  const foundLines = found.split("\n");
  let at = 0;
  const lines: string[] = [];
  const parts = diffArrays(oldText.split("\n"), newText.split("\n"), { timeout: MAX_COMPARE_MS });
  if (parts === undefined) return newText;
  for (const part of parts) {
    if (part.added) {
      lines.push(...part.value);
      continue;
    }
    if (!part.removed) lines.push(...foundLines.slice(at, at + part.value.length));
    at += part.value.length;
  }
  return lines.join("\n");
}

/** A passage to replace, as the model sent it. */
export interface TextEdit {
  oldText: string;
  newText: string;
}

/** Replaces the characters from `start` to before `end`. */
export interface TextChange {
  start: number;
  end: number;
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

/** The characters from `start` to before `end`. */
interface Span {
  start: number;
  end: number;
}

export type Tolerance = "trailing whitespace" | "typographic, full-width or composed characters";

interface Matches {
  spans: Span[];
  /** Ignored differences; empty for an exact match. */
  tolerated: Tolerance[];
}

/** More places than a model is shown; a passage of one letter may have millions. */
const MAX_PLACES = 1_000;

/**
 * The places of a passage in a text, the first thousand of them. Where there is no exact one, spaces at line ends,
 * typographic and full-width characters, and how accents are encoded are overlooked, and nothing else: indentation and
 * case can carry meaning.
 */
export function matches(text: string, passage: string): Matches {
  const exact = placesOf(text, passage);
  if (exact.length > 0 || passage.trim() === "") return { spans: exact, tolerated: [] };
  const folded = fold(text);
  const spans = placesOf(folded.text, fold(passage).text).map(({ start, end }) => ({
    start: folded.origins[start]!,
    end: folded.origins[end]!,
  }));
  return { spans, tolerated: toleratedIn(text, passage, spans) };
}

function placesOf(text: string, passage: string): Span[] {
  const spans: Span[] = [];
  if (passage === "") return spans;
  for (
    let at = text.indexOf(passage);
    at >= 0 && spans.length < MAX_PLACES;
    at = text.indexOf(passage, at + 1)
  ) {
    spans.push({ start: at, end: at + passage.length });
  }
  return spans;
}

const plain: Readonly<Record<string, string>> = {
  "\u2018": "'",
  "\u2019": "'",
  "\u201a": "'",
  "\u201c": '"',
  "\u201d": '"',
  "\u201e": '"',
  "\u2010": "-",
  "\u2011": "-",
  "\u2012": "-",
  "\u2013": "-",
  "\u2014": "-",
  "\u2212": "-",
  "\u00a0": " ",
  "\u2002": " ",
  "\u2003": " ",
  "\u2009": " ",
  "\u202f": " ",
  "\u3000": " ",
};
/** The full-width forms of ASCII stand in its order. */
const fullWidthOffset = 0xfee0;
const typographic = new RegExp(`[${Object.keys(plain).join("")}\\uff01-\\uff5e]`, "g");

/** One character for one, so that positions stay. */
function plainCharacters(text: string): string {
  return text.replaceAll(
    typographic,
    (character) => plain[character] ?? String.fromCharCode(character.charCodeAt(0) - fullWidthOffset),
  );
}

interface Folded {
  text: string;
  /** Earlier position of each character, and of the end. */
  origins: number[];
}

/** Without spaces at line ends, in plain characters, letters and their accents in one. */
function fold(text: string): Folded {
  const origins: number[] = [];
  let folded = "";
  let from = 0;
  const take = (end: number) => {
    for (let at = from; at < end; at += 1) origins.push(at);
    folded += text.slice(from, end);
  };
  // Every run of spaces is looked at once: an expression that asks what follows starts anew in each of its spaces.
  for (const space of text.matchAll(/[^\S\n]+/g)) {
    const end = space.index + space[0].length;
    if (text[end] !== "\n") continue;
    take(space.index);
    from = end;
  }
  take(text.length);
  origins.push(text.length);
  return composed({ text: plainCharacters(folded), origins });
}

function composed({ text, origins }: Folded): Folded {
  if (text.normalize("NFC") === text) return { text, origins };
  const from: number[] = [];
  let made = "";
  let at = 0;
  const take = (end: number) => {
    made += text.slice(at, end);
    for (; at < end; at += 1) from.push(origins[at]!);
  };
  for (const { 0: letter, index } of text.matchAll(/\P{M}\p{M}+/gu)) {
    const one = letter.normalize("NFC");
    if (one === letter) continue;
    take(index);
    made += one;
    for (let unit = 0; unit < one.length; unit += 1) from.push(origins[index]!);
    at = index + letter.length;
  }
  take(text.length);
  from.push(origins.at(-1)!);
  return { text: made, origins: from };
}

function toleratedIn(text: string, passage: string, spans: readonly Span[]): Tolerance[] {
  const found = spans[0] && text.slice(spans[0].start, spans[0].end);
  if (found === undefined) return [];
  const tolerated: Tolerance[] = [];
  const ends = (value: string) =>
    value
      .split("\n")
      .map((line) => line.trimEnd())
      .join("\n");
  if (plainCharacters(found.normalize("NFC")) !== plainCharacters(passage.normalize("NFC")))
    tolerated.push("trailing whitespace");
  if (ends(found) !== ends(passage)) tolerated.push("typographic, full-width or composed characters");
  return tolerated;
}

/** Lines of the nearest passage that are shown. */
const MAX_SHOWN_LINES = 12;
const MAX_SHOWN_CHARS = 200;
/** A line that the passage has more often, like a bracket, stands in too many places to help. */
const MAX_PLACES_OF_LINE = 20;
/** A shorter newText can stand in the file for any reason. */
const MIN_TELLING_CHARS = 8;

/** Why a passage was not found, with what comes nearest to it. */
function notFound(text: string, { oldText, newText }: TextEdit): string {
  if (newText.trim().length >= MIN_TELLING_CHARS && text.includes(newText)) {
    return "oldText does not occur, but newText does: this edit seems to be done already.";
  }
  const lines = text.split("\n");
  const wanted = oldText.split("\n");
  const start = nearestStart(lines, wanted);
  if (start === undefined) {
    return "no line of oldText occurs in the file. Read the file again and copy the text from it.";
  }
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
