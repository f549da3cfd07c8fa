import { isStem, type Query, type QueryTerm, type ShownTerm } from "./query.ts";
import {
  entryNumber,
  entryOf,
  type FileRange,
  fieldAndLength,
  fileOf,
  type IndexedFile,
  MAX_PARTS,
  numberInFile,
  type SearchIndex,
} from "./search-index.ts";
import { isLoneCharacter } from "./words.ts";

// BM25 with fields, over the index's lists of parts.

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

/** Ranks the entries of some files that contain a term of the query. */
export function rankEntries({ terms }: Query, index: SearchIndex, files: readonly IndexedFile[]): Ranking {
  if (files.length === 0) return { entries: [], terms: [] };
  const postings = new Postings(index, files);
  const scores = new Scores(postings);
  const shown: ShownTerm[] = [];
  let required: Set<number> | undefined;
  for (const term of terms) {
    const own = postings.withTerm(term);
    const within = postings.withPart(term, own);
    const rarity = scores.add(own, term.weight);
    const partRarity = scores.add(within, term.weight * PART_WEIGHT);
    const isFound = own.length + within.length > 0;
    if (isFound && (term.shown !== undefined || !term.text.includes(" ")))
      shown.push({
        text: term.shown ?? term.part ?? term.text,
        weight: term.weight * Math.max(rarity, partRarity),
      });
    if (term.isRequired) required = commonEntries(own, required);
  }
  return { entries: bestFirst(scores.ranked(required)), terms: shown };
}

/** Maximum number of pairs of two frequent words: a pair can take longer than all words. */
const MAX_FREQUENT_PAIRS = 1;

/** Reads lists of parts for terms. */
class Postings {
  readonly #index: SearchIndex;
  readonly #files: readonly IndexedFile[];
  readonly #range: FileRange;
  readonly #lists = new Map<string, readonly number[]>();
  #frequentPairs = 0;
  /** Number of entries, by file. */
  readonly entryCounts: ReadonlyMap<number, number>;

  constructor(index: SearchIndex, files: readonly IndexedFile[]) {
    this.#index = index;
    this.#files = files;
    this.entryCounts = new Map(files.map(({ id, entries }) => [id, entries]));
    const ids = [...this.entryCounts.keys()].sort((a, b) => a - b);
    const isAll = ids.length === 1 || ids.length === index.fileCount();
    this.#range = { first: ids[0]!, last: ids.at(-1)!, among: isAll ? undefined : JSON.stringify(ids) };
  }

  /** The newest parts with a word or with consecutive words. */
  withTerm({ text, shown }: QueryTerm): number[] {
    const words = shown === undefined ? text.split(" ").map((word) => this.#lists.get(word) ?? []) : [];
    if (words.length === 2 && !this.#isPair(words)) return [];
    const list = this.#find(isLoneCharacter(text) ? `"${text}"*` : `"${text}"`);
    this.#lists.set(text, list);
    return list;
  }

  #isPair(words: readonly (readonly number[])[]): boolean {
    if (words.every(isFrequent)) return ++this.#frequentPairs <= MAX_FREQUENT_PAIRS;
    return words.every((parts) => parts.length > 0);
  }

  /** The parts with other forms of a rare word. If no part has the word, the parts with longer words that contain it. */
  withPart(term: QueryTerm, own: readonly number[]): number[] {
    if (term.part === undefined || isFrequent(own) || (own.length > 0 && !isStem(term))) return [];
    const words = this.#index.wordsWith(term.part);
    return words.length === 0 ? [] : this.#find(words.map((word) => `"${word}"`).join(" OR "));
  }

  #find(expression: string): number[] {
    return this.#index.parts(expression, this.#range);
  }

  /** Estimated number of entries behind a list of parts: a long list has only the newest parts. */
  countedAmong(parts: readonly number[]): number {
    const oldest = isFrequent(parts) ? fileOf(entryOf(parts.at(-1)!)) : 0;
    return this.#files.reduce((sum, { id, entries }) => sum + (id >= oldest ? entries : 0), 0);
  }
}

/** True if the list has only the newest parts. */
function isFrequent(parts: readonly number[]): boolean {
  return parts.length >= MAX_PARTS;
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
      if (entries[last] === entry)
        strengths[last] = Math.max(strengths[last]!, STRENGTHS[fieldAndLength(part)]!);
      else {
        entries.push(entry);
        strengths.push(STRENGTHS[fieldAndLength(part)]!);
      }
    }
    const others = Math.max(0, this.#postings.countedAmong(parts) - entries.length);
    const rarity = Math.log(1 + (others + 0.5) / (entries.length + 0.5)) ** RARITY_POWER;
    for (const [at, entry] of entries.entries())
      this.#of(fileOf(entry))[numberInFile(entry)]! += weight * rarity * strengths[at]!;
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
const STRENGTHS = Array.from({ length: 64 }, (_, code) => {
  const weight = FIELD_WEIGHTS[code >> 4] ?? 1;
  const length = 1 + LENGTH_WEIGHT * Math.max(0, (code & 15) - SHORT_CLASS);
  return (weight * (SATURATION + 1)) / (weight + SATURATION * length);
});

function commonEntries(parts: readonly number[], among: ReadonlySet<number> | undefined): Set<number> {
  const entries = parts.map(entryOf);
  return new Set(among === undefined ? entries : entries.filter((entry) => among.has(entry)));
}
