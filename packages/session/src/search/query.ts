import { foldedText, isLoneCharacter, searchText, wordsIn } from "./words.ts";

/** One word of a query, or several consecutive words. */
export interface QueryTerm {
  /** Words from `searchText`, separated by spaces. */
  text: string;
  weight: number;
  /** The word without its ending. Words that contain it count too, but less. */
  part?: string;
  /** Entries without the term are no hits. */
  isRequired?: boolean;
  /** The folded text to show, if it is longer than a word. */
  shown?: string;
}

/** A parsed query. */
export interface Query {
  terms: readonly QueryTerm[];
  /** Texts in double quotes, folded: a hit contains each as written. */
  phrases: readonly string[];
}

/** A query by a regular expression. */
export interface PatternQuery {
  /** Returns the first match by text number. Asynchronous, because a pattern may never end and needs a thread. */
  findTexts: (texts: readonly string[]) => Promise<ReadonlyMap<number, TextRange>>;
}

/** A range of a text. */
export interface TextRange {
  start: number;
  end: number;
}

/** A longer query is a paste: only its first words count. */
const MAX_TERMS = 96;
const MAX_CHARACTERS = 4000;
/** Tuned on `search-quality.bench.ts`. */
const WEIGHT = { word: 1, neighbours: 0.3, phrase: 2, name: 3 };
/** A path, an identifier of several words or a value. It rarely has two meanings. */
const NAME = /[\p{L}\p{N}][_./\\:@#-]+[\p{L}\p{N}]|\p{Ll}\p{Lu}/u;
/** The share of a word that its other forms begin with, and the minimum length of this part. */
const STEM_SHARE = 0.7;
const MIN_STEM = 4;
const MIN_PART = 3;

/**
 * Parses a query in plain words. Ignores an unclosed quote.
 * @param requiresPhrases true if a hit must contain a text in double quotes; otherwise the text only weighs more
 */
export function parseQuery(query: string, requiresPhrases = true): Query {
  const phrases: string[] = [];
  const terms = new Map<string, QueryTerm>();
  const add = (term: QueryTerm) => terms.set(term.text, { ...term, ...terms.get(term.text) });
  let last: string | undefined;
  for (const [, quoted, token] of query.slice(0, MAX_CHARACTERS).matchAll(/"([^"]+)"|([^\s"]+)/g)) {
    const words = queryWords(quoted ?? token!);
    const isName = quoted === undefined && NAME.test(token!);
    if (quoted !== undefined && words.length > 0) {
      const shown = foldedText(quoted).replaceAll(/\s+/g, " ").trim();
      if (requiresPhrases) phrases.push(shown);
      add({ text: phraseOf(words), weight: WEIGHT.phrase, isRequired: requiresPhrases, shown });
    }
    if (isName) add({ text: phraseOf(words), weight: WEIGHT.name, shown: bareName(token!) });
    for (const word of words) {
      if (last !== undefined) add({ text: `${last} ${word}`, weight: WEIGHT.neighbours });
      add({ text: word, weight: WEIGHT.word, ...partOf(word) });
      last = word;
    }
  }
  const ordered = [...terms.values()].sort((a, b) => order(a) - order(b));
  return { terms: ordered.slice(0, MAX_TERMS), phrases };
}

/** A phrase search takes time in proportion to phrase length times text length. A hit is checked for the whole phrase. */
const MAX_PHRASE_WORDS = 16;

function phraseOf(words: readonly string[]): string {
  return words.slice(0, MAX_PHRASE_WORDS).join(" ");
}

/** Removes the punctuation around a name. */
function bareName(token: string): string {
  return /[\p{L}\p{N}].*[\p{L}\p{N}]/u.exec(foldedText(token))![0];
}

function queryWords(text: string): string[] {
  const words = wordsIn(searchText(text));
  // A pair of characters already contains the last one.
  return words.filter((word, at) => at === 0 || !(isLoneCharacter(word) && words[at - 1]!.endsWith(word)));
}

/** Names and phrases first, neighbours last. */
function order({ text, shown }: QueryTerm): number {
  return shown !== undefined ? 0 : text.split(" ").length;
}

function partOf(word: string): Pick<QueryTerm, "part"> {
  if (word.length < MIN_PART || /^\p{N}+$/u.test(word)) return {};
  return { part: word.slice(0, Math.max(MIN_STEM, Math.ceil(word.length * STEM_SHARE))) };
}

/** True if words with the part also count when the word itself was found: they may be other forms of it. */
export function isStem({ text, part = text }: QueryTerm): boolean {
  return part.length < text.length;
}

/** A term to show in a text. */
export interface ShownTerm {
  text: string;
  /** Higher for rarer terms. */
  weight: number;
}

/** Numbers of the best lines, from 0, best first. Each line adds terms that the earlier ones lack. */
export function bestLines(text: string, terms: readonly ShownTerm[], count: number): number[] {
  const lines = foldedText(text).split("\n");
  const left = new Set(terms);
  const chosen: number[] = [];
  while (chosen.length < count && left.size > 0) {
    let best = { at: -1, gain: 0 };
    for (const [at, line] of lines.entries()) {
      let gain = 0;
      for (const term of left) if (line.includes(term.text)) gain += term.weight;
      if (gain > best.gain) best = { at, gain };
    }
    if (best.at < 0) break;
    chosen.push(best.at);
    for (const term of left) if (lines[best.at]!.includes(term.text)) left.delete(term);
  }
  return chosen;
}
