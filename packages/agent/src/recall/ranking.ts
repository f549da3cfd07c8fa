import { foldedText, type QueryTerm } from "./query-terms.ts";
import type { RecalledEntry } from "./recalled-entry.ts";

/** An entry that says something of what was asked for. */
export interface RankedEntry {
  entry: RecalledEntry;
  /** The lines to show, from 1, oldest first: those that say most of what was asked for. */
  lines: readonly number[];
  /** Others that are much the same, best first. */
  also: readonly string[];
}

interface Hit extends RankedEntry {
  also: string[];
  /** Its lines: who would show only such is the same again. */
  said: ReadonlySet<string>;
}

function textLines({ text }: RecalledEntry): string[] {
  return text.split("\n").map((line) => line.trim());
}

/** How soon a term that comes again counts little more, and how much a long text counts less (BM25). */
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.3;
const USUAL_CHARACTERS = 1_000;
/** Terms that stand so near each other, in lines, are about each other. */
const WINDOW_LINES = 5;
/** Weight of a term inside a longer word. */
const INSIDE = 0.6;
/** Weight of a term that an earlier hit shows already. */
const KNOWN = 0.35;
/** The newest counts so much more than the oldest. */
const RECENCY = 0.1;
/** Weight of a person's text: it is meant more often than a program's output. */
const SPOKEN = 1.15;
const MAX_COUNTED = 32;
/** Lines shown of one hit. */
const SHOWN_LINES = 4;

interface Scored {
  entry: RecalledEntry;
  /** By number of the term: the weight of how it is written there, and that by how often. */
  weights: number[];
  strengths: number[];
  window: { from: number; strengths: number[] };
  factor: number;
}

/**
 * The best entries for some terms: by how rare the terms are that stand there, how near each other, how often, and how
 * late; each hit counts for what those before it do not show. What is much the same is one hit.
 * @param entries oldest first
 * @param options.turn called between two entries: others have theirs meanwhile
 */
export async function rankedEntries(
  entries: readonly RecalledEntry[],
  { terms, limit, turn }: { terms: readonly QueryTerm[]; limit: number; turn: () => Promise<void> },
): Promise<{ hits: RankedEntry[]; count: number }> {
  const scored: Scored[] = [];
  for (const [at, entry] of entries.entries()) {
    await turn();
    scored.push(...scoredEntry(entry, terms, at / entries.length));
  }
  const rarity = terms.map((_, term) => {
    const holding = scored.filter(({ strengths }) => strengths[term]! > 0).length;
    // Squared: a few words that stand everywhere must not outweigh the one that hardly stands anywhere.
    return Math.log(1 + (entries.length - holding + 0.5) / (holding + 0.5)) ** 2;
  });
  const known = terms.map(() => 1);
  const worth = ({ strengths, window, factor }: Scored) =>
    factor *
    terms.reduce(
      (sum, _, term) => sum + (strengths[term]! + window.strengths[term]!) * rarity[term]! * known[term]!,
      0,
    );
  const best = scored.toSorted((a, b) => worth(b) - worth(a));
  const left = [...Map.groupBy(best, ({ entry }) => entry.kind).values()];
  const hits: Hit[] = [];
  while (hits.length < limit && left.length > 0) {
    await turn();
    const next = left.reduce((a, b) => (worth(b[0]!) > worth(a[0]!) ? b : a));
    left.splice(left.indexOf(next), 1);
    const [first, ...others] = next as [Scored, ...Scored[]];
    const ids = others.map(({ entry }) => entry.entryId);
    const lines = shownLines(first, terms, rarity);
    const shown = textLines(first.entry);
    const same = hits.find((hit) => lines.every((line) => hit.said.has(shown[line - 1]!)));
    if (same !== undefined) {
      same.also.push(first.entry.entryId, ...ids);
      continue;
    }
    first.weights.forEach((weight, term) => {
      // A variant in the text may stand for the term of the query.
      const isWhole = weight >= terms[term]!.variants[0]!.weight * INSIDE;
      if (weight > 0) known[term] = Math.min(known[term]!, isWhole ? KNOWN : 1 - KNOWN);
    });
    hits.push({ entry: first.entry, lines, also: ids, said: new Set(shown) });
  }
  return { hits: hits.map(({ said: _, ...hit }) => hit), count: scored.length };
}

function scoredEntry(entry: RecalledEntry, terms: readonly QueryTerm[], place: number): Scored[] {
  const text = foldedText(`${entry.who}\n${entry.text}`);
  const length = 1 - LENGTH_WEIGHT + LENGTH_WEIGHT * Math.log2(2 + text.length / USUAL_CHARACTERS);
  const found = terms.map((term) => occurrences(text, term));
  if (found.every(({ places }) => places.length === 0)) return [];
  const strengths = found.map(({ weight, places: { length: count } }) => {
    return (weight * count * (SATURATION + 1)) / (count + SATURATION * length);
  });
  const isSpoken = entry.who === "user" || entry.who === "answer";
  const factor = (1 + RECENCY * place) * (isSpoken ? SPOKEN : 1);
  return [
    { entry, weights: found.map(({ weight }) => weight), strengths, window: bestWindow(text, found), factor },
  ];
}

interface Occurrences {
  /** Weight of the best variant in the text. */
  weight: number;
  places: number[];
}

const NOWHERE: Occurrences = { weight: 0, places: [] };

function occurrences(text: string, { variants }: QueryTerm): Occurrences {
  let best = NOWHERE;
  for (const { text: wanted, weight } of variants) {
    if (weight <= best.weight) continue;
    const places: number[] = [];
    let isWhole = false;
    for (let at = text.indexOf(wanted); at >= 0 && places.length < MAX_COUNTED; ) {
      places.push(at);
      isWhole ||= isBorder(text, at - 1, at) && isBorder(text, at + wanted.length - 1, at + wanted.length);
      at = text.indexOf(wanted, at + wanted.length);
    }
    const counted = weight * (isWhole ? 1 : INSIDE);
    if (places.length > 0 && counted > best.weight) best = { weight: counted, places };
  }
  return best;
}

const LETTER = /[\p{L}\p{N}_]/u;
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Hangul}]/u;

/** True where a word ends between two characters; scripts without spaces do not say. */
function isBorder(text: string, before: number, behind: number): boolean {
  const [one, other] = [text[before] ?? " ", text[behind] ?? " "];
  return !LETTER.test(one) || !LETTER.test(other) || UNSPACED.test(one) || UNSPACED.test(other);
}

/** The lines next to each other that hold most of the terms. */
function bestWindow(text: string, found: readonly Occurrences[]): Scored["window"] {
  const lineOf = lineFinder(text);
  const places = found
    .flatMap(({ places: own }, term) => own.map((place) => ({ term, line: lineOf(place) })))
    .sort((a, b) => a.line - b.line);
  let best = { from: 0, weight: 0, strengths: found.map(() => 0) };
  for (const [at, { line: from }] of places.entries()) {
    if (from === places[at - 1]?.line) continue;
    const strengths = found.map(() => 0);
    let weight = 0;
    for (let next = at; next < places.length && places[next]!.line < from + WINDOW_LINES; next += 1) {
      const { term } = places[next]!;
      if (strengths[term] === 0) weight += found[term]!.weight;
      strengths[term] = found[term]!.weight;
    }
    if (weight > best.weight) best = { from, weight, strengths };
  }
  return best;
}

/** The line of a place, from 0. */
function lineFinder(text: string): (place: number) => number {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (place) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (starts[middle]! <= place) low = middle;
      else high = middle - 1;
    }
    return low;
  };
}

/** The lines that say most, each for what those before it do not; at least the first of the best place. */
function shownLines(
  { entry, window }: Scored,
  terms: readonly QueryTerm[],
  rarity: readonly number[],
): number[] {
  const lines = entry.text.split("\n");
  const folded = lines.map(foldedText);
  const left = new Set(terms.keys());
  const chosen: number[] = [];
  const gain = (line: string) =>
    [...left].reduce((sum, term) => sum + rarity[term]! * occurrences(line, terms[term]!).weight, 0);
  const gains = new Map(folded.map((line, at) => [at, gain(line)]));
  while (chosen.length < SHOWN_LINES) {
    let best: { at: number; worth: number } | undefined;
    for (const [at, first] of gains) {
      if (first <= (best?.worth ?? 0) || chosen.includes(at)) continue;
      const isNear = at >= window.from - 1 && at < window.from + WINDOW_LINES;
      const worth = (chosen.length === 0 ? first : gain(folded[at]!)) * (isNear ? 1.2 : 1);
      if (worth > (best?.worth ?? 0)) best = { at, worth };
    }
    if (best === undefined) break;
    chosen.push(best.at);
    for (const term of left) if (occurrences(folded[best.at]!, terms[term]!).weight > 0) left.delete(term);
  }
  if (chosen.length === 0)
    chosen.push(
      Math.max(
        0,
        lines.findIndex((line) => line.trim() !== ""),
      ),
    );
  return chosen.sort((a, b) => a - b).map((at) => at + 1);
}
