import { isStem, type Query, type QueryTerm, type ShownTerm } from "./query.ts";

// BM25 with fields. A number describes a part of an entry: session, position in the session, field and length. A search reads
// lists of such numbers and no texts.

/** The fields of an entry: the user's words and pins, the agent's prose, and everything else. */
export type Field = 0 | 1 | 2;

/** Maximum number of parts of an entry, and of entries in a file. */
const PARTS = 64;
export const MAX_ENTRIES = 2 ** 23;
const MAX_LENGTH_CLASS = 15;

/** @param entry number from `entryNumber` */
export function partNumber(entry: number, field: Field, wordCount: number): number {
  return entry * PARTS + field * 16 + Math.min(MAX_LENGTH_CLASS, Math.ceil(Math.log2(1 + wordCount)));
}

/** @param place position of the entry in its file, from 1, so that entries of two files are never neighbours */
export function entryNumber(file: number, place: number): number {
  return file * MAX_ENTRIES + place;
}

/** Bounds for the numbers of the parts of these files. */
export function partRange(firstFile: number, lastFile: number): [from: number, to: number] {
  return [entryNumber(firstFile, 0) * PARTS, entryNumber(lastFile + 1, 0) * PARTS];
}

export function entryOf(part: number): number {
  return Math.floor(part / PARTS);
}

export function fileOf(entry: number): number {
  return Math.floor(entry / MAX_ENTRIES);
}

/** The parts that contain a term. Numbers of one entry follow each other. */
export interface Postings {
  /** Parts with these consecutive words. */
  parts(words: string): readonly number[];
  /** Parts with a word that contains the text. */
  partsWithin(text: string): readonly number[];
  /** Number of entries, by file. */
  entryCounts: ReadonlyMap<number, number>;
  /** Estimated number of entries behind a list of parts: a long list has only the newest parts. */
  countedAmong(parts: readonly number[]): number;
}

// Tuned on the first half of the questions of `search-quality.bench.ts`, and checked with the second and `recall.bench.ts`.
/** Weight of one occurrence, by field. */
const FIELD_WEIGHTS = [2, 1.5, 1];
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.3;
/** Texts of up to 2^5 words count as short. */
const SHORT_CLASS = 5;
/** A few frequent words must not outweigh a rare one. */
const RARITY_POWER = 1.25;
const PART_WEIGHT = 0.6;
/** The answer is often next to the words of the question. */
const NEIGHBOUR_WEIGHT = 0.3;
const SESSION_WEIGHT = 0.1;
const SESSION_ENTRIES = 5;

export interface RankedEntry {
  entry: number;
  score: number;
}

export interface Ranking {
  /** Best first. */
  entries: Iterable<RankedEntry>;
  /** Terms for the choice of lines to show. */
  terms: ShownTerm[];
}

/** Ranks the entries that contain a term of the query. */
export function rankEntries({ terms }: Query, postings: Postings): Ranking {
  const scores = new Scores(postings);
  const shown: ShownTerm[] = [];
  let required: Set<number> | undefined;
  for (const term of terms) {
    const own = postings.parts(term.text);
    const rarity = scores.add(own, term.weight);
    const within = partsWithin(term, own, postings);
    const partRarity = scores.add(within, term.weight * PART_WEIGHT);
    if (own.length + within.length > 0 && (term.shown !== undefined || !term.text.includes(" ")))
      shown.push({
        text: term.shown ?? term.part ?? term.text,
        weight: term.weight * Math.max(rarity, partRarity),
      });
    if (term.isRequired) required = commonEntries(own, required);
  }
  return { entries: bestFirst(scores.ranked(required)), terms: shown };
}

/** The parts with other forms of a word. If no part has the word, the parts with longer words that contain it. */
function partsWithin(term: QueryTerm, own: readonly number[], postings: Postings): readonly number[] {
  if (term.part === undefined || (own.length > 0 && !isStem(term))) return [];
  return postings.partsWithin(term.part);
}

/** The scores of entries, by file and place. */
class Scores {
  readonly #postings: Postings;
  readonly #byFile = new Map<number, Float64Array>();

  constructor(postings: Postings) {
    this.#postings = postings;
  }

  /** Adds a term. Returns its rarity. */
  add(parts: readonly number[], weight: number): number {
    if (parts.length === 0) return 0;
    const entries: number[] = [];
    const strengths: number[] = [];
    for (const part of parts) {
      const entry = entryOf(part);
      const last = entries.length - 1;
      if (entries[last] === entry) strengths[last] = Math.max(strengths[last]!, STRENGTHS[part % PARTS]!);
      else {
        entries.push(entry);
        strengths.push(STRENGTHS[part % PARTS]!);
      }
    }
    const others = Math.max(0, this.#postings.countedAmong(parts) - entries.length);
    const rarity = Math.log(1 + (others + 0.5) / (entries.length + 0.5)) ** RARITY_POWER;
    for (const [at, entry] of entries.entries())
      this.#of(fileOf(entry))[entry % MAX_ENTRIES]! += weight * rarity * strengths[at]!;
    return rarity;
  }

  #of(file: number): Float64Array {
    const known = this.#byFile.get(file);
    if (known !== undefined) return known;
    // Places begin at 1, and each has two neighbours.
    const made = new Float64Array((this.#postings.entryCounts.get(file) ?? 0) + 2);
    this.#byFile.set(file, made);
    return made;
  }

  /** The entries with a score, with a share of the scores of their neighbours and their session. */
  ranked(required: ReadonlySet<number> | undefined): RankedEntry[] {
    const found: RankedEntry[] = [];
    for (const [file, scores] of this.#byFile) {
      const session = sumOfBest(scores);
      for (const [place, own] of scores.entries()) {
        const entry = entryNumber(file, place);
        if (own === 0 || required?.has(entry) === false) continue;
        const near = scores[place - 1]! + scores[place + 1]!;
        found.push({ entry, score: own + NEIGHBOUR_WEIGHT * near + SESSION_WEIGHT * session });
      }
    }
    return found;
  }
}

/** The sum of the best entries of a session. */
function sumOfBest(scores: Float64Array): number {
  const best = new Float64Array(SESSION_ENTRIES);
  for (const score of scores) {
    if (score <= best[0]!) continue;
    best[0] = score;
    best.sort();
  }
  return best.reduce((sum, score) => sum + score, 0);
}

/** Number of entries to sort first. Callers rarely read more. */
const SORTED_FIRST = 500;

function* bestFirst(entries: readonly RankedEntry[]): Generator<RankedEntry> {
  const least =
    Float64Array.from(entries, ({ score }) => score)
      .sort()
      .at(-SORTED_FIRST) ?? 0;
  const order = (a: RankedEntry, b: RankedEntry) => b.score - a.score || b.entry - a.entry;
  yield* entries.filter(({ score }) => score >= least).sort(order);
  yield* entries.filter(({ score }) => score < least).sort(order);
}

/** By field and length of a part. */
const STRENGTHS = Array.from({ length: PARTS }, (_, code) => {
  const weight = FIELD_WEIGHTS[code >> 4] ?? 1;
  const length = 1 + LENGTH_WEIGHT * Math.max(0, (code & 15) - SHORT_CLASS);
  return (weight * (SATURATION + 1)) / (weight + SATURATION * length);
});

function commonEntries(parts: readonly number[], among: ReadonlySet<number> | undefined): Set<number> {
  const entries = parts.map(entryOf);
  return new Set(among === undefined ? entries : entries.filter((entry) => among.has(entry)));
}
