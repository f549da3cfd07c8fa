import type { RecalledEntry } from "./recalled-entry.ts";

/** One term of a query, in all its spellings; folded, see `foldedText`. */
interface QueryTerm {
  variants: ReadonlyArray<{ text: string; weight: number }>;
}

/** A query with more terms names nothing special. */
const MAX_TERMS = 60;
const MAX_CHARS = 4_000;
/** Scripts that write no spaces between words, and Korean, whose words have many endings. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Hangul}ー々]/u;
const UNSPACED_RUN = new RegExp(`${UNSPACED.source}+`, "gu");
/** Paths, identifiers, values and plain words, without the punctuation around them. */
const WORD = /[\p{L}\p{N}_$#@~/\\.:+-]*[\p{L}\p{N}_$]/gu;
/** A position in a file. */
const POSITION = /(?::\d+)+$/;
/** A path's folders, an object and its method. */
const BETWEEN_NAMES = /[./\\:#@+]+/;
/** Words of one letter say nothing; two may be a name. */
const MIN_CHARS = 2;
const MIN_PART_CHARS = 3;

/** Weights of a term, of its stem and of its parts. */
const WEIGHT = { quoted: 1.5, specific: 1.5, last: 0.8, word: 1, stem: 0.8, part: 0.5, pair: 0.5 };

/**
 * Returns the terms of a query in plain words, the most specific first: quoted texts; paths and identifiers, whole and in
 * parts; words, with and without their ending; pairs of characters in scripts without spaces.
 */
export function queryTerms(query: string): QueryTerm[] {
  const terms = new Map<string, QueryTerm>();
  const add = (...variants: QueryTerm["variants"][number][]) => {
    const [first] = variants;
    if (first !== undefined && !terms.has(first.text)) terms.set(first.text, { variants });
  };
  const rest = query
    .slice(0, MAX_CHARS)
    .normalize("NFC")
    .replaceAll(/"([^"\n]+)"/g, (_, quoted: string) => {
      add({ text: foldedText(quoted.trim()), weight: WEIGHT.quoted });
      return ` ${quoted} `;
    });
  const words = (rest.replaceAll(UNSPACED_RUN, " ").match(WORD) ?? []).map((word) =>
    word.replace(POSITION, ""),
  );
  const specific = words.filter(isSpecific);
  for (const word of specific) add(...writings(word));
  for (const word of words) if (!isSpecific(word)) add(...inflections(word));
  for (const [run] of rest.matchAll(UNSPACED_RUN)) for (const pair of pairsOf(run)) add(pair);
  for (const word of specific) {
    const names = word.split(BETWEEN_NAMES);
    for (const name of names)
      if (name !== word && isSpecific(name)) add({ text: foldedText(name), weight: WEIGHT.word });
    for (const part of names.flatMap(partsOf)) add({ text: part, weight: WEIGHT.part });
  }
  return [...terms.values()]
    .filter(
      ({ variants }) => variants[0]!.text.length >= MIN_CHARS || !/^[\0-\x7f]*$/.test(variants[0]!.text),
    )
    .slice(0, MAX_TERMS);
}

/** In lower case, each character in its place. */
export function foldedText(text: string): string {
  const lower = text.toLowerCase();
  if (lower.length === text.length) return lower;
  return Array.from({ length: text.length }, (_, at) => {
    const character = text[at]!.toLowerCase();
    return character.length === 1 ? character : text[at]!;
  }).join("");
}

/** True for a path, an identifier of several words and a value: they hardly have two meanings. */
function isSpecific(word: string): boolean {
  return /\p{N}|[\p{L}\p{N}][_./\\:@-][\p{L}\p{N}]|\p{Ll}\p{Lu}|^[#@$]/u.test(word);
}

/** A text may name a path from another folder, or only by its last part. */
function writings(word: string): QueryTerm["variants"][number][] {
  const whole = foldedText(word.replace(/^[./~\\]+(?=.)/, ""));
  const last = whole.split(/[/\\]/).at(-1)!;
  const variants = [{ text: whole, weight: WEIGHT.specific }];
  if (last !== whole && last.length >= MIN_PART_CHARS) variants.push({ text: last, weight: WEIGHT.last });
  return variants;
}

/** Minimum letters of a word that is also searched with other endings. */
const MIN_INFLECTED_CHARS = 5;

function inflections(word: string): QueryTerm["variants"][number][] {
  const bare = foldedText(word.replaceAll(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, ""));
  const variants = [{ text: bare, weight: WEIGHT.word }];
  if (bare.length >= MIN_INFLECTED_CHARS) {
    const kept = Math.max(4, Math.ceil(bare.length * 0.7));
    if (kept < bare.length) variants.push({ text: bare.slice(0, kept), weight: WEIGHT.stem });
  }
  return variants;
}

function pairsOf(run: string): QueryTerm["variants"][number][] {
  const characters = [...foldedText(run)];
  if (characters.length < 3) return [{ text: characters.join(""), weight: WEIGHT.word }];
  return characters
    .slice(1)
    .map((character, at) => ({ text: characters[at]! + character, weight: WEIGHT.pair }));
}

function partsOf(word: string): string[] {
  return word
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
    .split(/[^\p{L}\p{N}]+/u)
    .map(foldedText)
    .filter((part) => part.length >= MIN_PART_CHARS);
}

/** An entry that matches the query. */
export interface RankedEntry {
  entry: RecalledEntry;
  /** Numbers of the lines that match best, from 1, in order. */
  lines: readonly number[];
  /** Ids of similar entries, best first. */
  also: readonly string[];
}

interface Hit extends RankedEntry {
  also: string[];
  /** Its lines: a later hit that shows only these is a repetition. */
  said: ReadonlySet<string>;
}

function textLines({ text }: RecalledEntry): string[] {
  return text.split("\n").map((line) => line.trim());
}

/** BM25: limits the weight of repetitions, and lowers the weight of long texts. */
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.3;
const USUAL_CHARACTERS = 1_000;
/** Terms within this many lines belong together. */
const WINDOW_LINES = 5;
/** Weight of a term inside a longer word. */
const INSIDE = 0.6;
/** Weight of a term that an earlier hit shows. */
const KNOWN = 0.35;
/** Additional weight of the newest entry. */
const RECENCY = 0.1;
/** Weight of a person's text: it is meant more often than a program's output. */
const SPOKEN = 1.15;
const MAX_COUNTED = 32;
/** Lines shown of one hit. */
const SHOWN_LINES = 4;

interface Scored {
  entry: RecalledEntry;
  /** By number of the term: the weight of its spelling, and the same with the number of occurrences. */
  weights: number[];
  strengths: number[];
  window: { from: number; strengths: number[] };
  factor: number;
}

/**
 * Ranks entries by the rarity of their terms, and by how near, frequent and recent they are. A term that an earlier hit
 * shows counts less. Similar entries are one hit.
 * @param entries oldest first
 * @param options.turn called between two entries, to let other work run
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
    // Squared: a few frequent words must not outweigh a rare one.
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
      // The text may contain another spelling of the term.
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

/** True if a word ends between two characters; scripts without spaces do not show it. */
function isBorder(text: string, before: number, behind: number): boolean {
  const [one, other] = [text[before] ?? " ", text[behind] ?? " "];
  return !LETTER.test(one) || !LETTER.test(other) || UNSPACED.test(one) || UNSPACED.test(other);
}

/** The neighbouring lines with the most terms. */
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

/** The best lines, each for terms that the earlier ones lack; at least the first line with text. */
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
