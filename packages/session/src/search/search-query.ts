/** A query for the texts of entries. */
export interface SearchQuery {
  /** Texts, each to be found as it stands within one text of an entry, in any case; empty ones count for nothing. */
  terms: readonly string[];
  /**
   * `all` (default): entries that hold each term. `any`: entries that hold one of them, the more and the rarer the better;
   * of terms of one or two ASCII characters, which stand everywhere, only where there are no others.
   */
  match?: "all" | "any";
  /** Shows secrets in snippets. Default: false. */
  showSecrets?: boolean;
}

/** More than that nobody means; the others are left aside. */
const MAX_TERMS = 64;

/** Words, and phrases in double quotes; a quote that does not close, or stands within a word, is none. */
export function parseSearchQuery(text: string, match: "all" | "any" = "all"): SearchQuery {
  const terms = new Map<string, string>();
  for (const [, phrase, word] of text.matchAll(/"([^"]*)"|"?(\S+)/g)) {
    const term = phrase?.trim() ?? word ?? "";
    if (term !== "" && terms.size < MAX_TERMS) terms.set(folded(term), term);
  }
  return { terms: [...terms.values()], match };
}

/** The places of a query's terms in the texts of an entry. */
interface TermMatches {
  /** How often each term stands there, by its number; 0 for not at all. */
  counts: number[];
  characters: number;
  /** The text with the most terms, and the longest of them in it. */
  text: string;
  start: number;
  end: number;
}

/** A query made ready. Owner of what it means that an entry matches: the index only proposes entries. */
export class TermMatcher {
  /** Folded, see `folded`. */
  readonly terms: readonly string[];
  readonly match: "all" | "any";
  /** By number: whether entries are found by that term alone. */
  readonly selects: readonly boolean[];
  readonly showSecrets: boolean;
  readonly #finders: readonly ((text: string, from: number) => number)[];

  constructor({ terms, match = "all", showSecrets = false }: SearchQuery) {
    this.showSecrets = showSecrets;
    this.terms = [...new Set(terms.slice(0, MAX_TERMS).map(folded))].filter((term) => term !== "");
    this.match = match;
    const isLong = this.terms.map((term) => !SHORT.test(term));
    this.selects = isLong.includes(true) ? isLong : isLong.map(() => true);
    this.#finders = this.terms.map(finderOf);
  }

  /** Undefined where the texts are not what is looked for. Time is linear in them. */
  find(texts: readonly string[]): TermMatches | undefined {
    const counts = this.terms.map(() => 0);
    let characters = 0;
    let best: { text: string; terms: number; start: number; end: number } | undefined;
    for (const text of texts) {
      characters += text.length;
      const here = this.#findIn(text, counts);
      if (here !== undefined && here.terms > (best?.terms ?? 0)) best = { text, ...here };
    }
    const isFound =
      this.match === "all"
        ? counts.every((count) => count > 0)
        : counts.some((count, at) => count > 0 && this.selects[at]);
    if (!isFound || best === undefined) return undefined;
    return { counts, characters, text: best.text, start: best.start, end: best.end };
  }

  #findIn(text: string, counts: number[]): { terms: number; start: number; end: number } | undefined {
    const line = folded(text);
    let place: { terms: number; start: number; end: number } | undefined;
    for (const [at, find] of this.#finders.entries()) {
      const { length } = this.terms[at]!;
      const start = find(line, 0);
      if (start < 0) continue;
      const isLonger = place === undefined || length > place.end - place.start;
      const terms: number = (place?.terms ?? 0) + 1;
      place = isLonger ? { terms, start, end: start + length } : { ...place!, terms };
      counts[at]! += countFrom(line, { find, start, length });
    }
    return place;
  }
}

const SHORT = /^[\0-\x7f]{1,2}$/;
/** More occurrences of a term in one text do not count. */
const MAX_COUNTED = 64;

function countFrom(
  text: string,
  { find, start, length }: { find: (text: string, from: number) => number; start: number; length: number },
): number {
  let count = 0;
  for (let at = start; at >= 0 && count < MAX_COUNTED; at = find(text, at + length)) count += 1;
  return count;
}

/** From here on, the engine's own search can take the product of both lengths. */
const LONG_TERM_CHARACTERS = 64;

function finderOf(term: string): (text: string, from: number) => number {
  if (term.length < LONG_TERM_CHARACTERS) return (text, from) => text.indexOf(term, from);
  const borders = bordersOf(term);
  return (text, from) => {
    let matched = 0;
    for (let at = from; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      while (matched > 0 && code !== term.charCodeAt(matched)) matched = borders[matched - 1]!;
      if (code === term.charCodeAt(matched)) matched += 1;
      if (matched === term.length) return at + 1 - matched;
    }
    return -1;
  };
}

/** For each beginning of a term, the length of the longest shorter one that it ends with (Knuth, Morris, Pratt). */
function bordersOf(term: string): Int32Array {
  const borders = new Int32Array(term.length);
  for (let at = 1, length = 0; at < term.length; at += 1) {
    while (length > 0 && term.charCodeAt(at) !== term.charCodeAt(length)) length = borders[length - 1]!;
    if (term.charCodeAt(at) === term.charCodeAt(length)) length += 1;
    borders[at] = length;
  }
  return borders;
}

/** Letters whose upper case is ASCII, and the surrogates of scripts with cases. */
const FOLDED_ALONE = /[\u0131\u017f\ud800-\ud83b]/;
const CHUNK = 8192;
let upperCase: Uint16Array | undefined;

/**
 * A text in which letters of either case are one, exactly as regular expressions with the flag `i` take them: so that a
 * search for a text finds the same everywhere. Each character stays where it was.
 */
export function folded(text: string): string {
  const upper = text.toUpperCase();
  // Upper case is never shorter: where the length is the same, no letter became two.
  if (upper.length === text.length && !FOLDED_ALONE.test(text)) return upper;
  upperCase ??= Uint16Array.from({ length: 0x10000 }, (_, code) => foldedCode(code));
  let result = "";
  for (let from = 0; from < text.length; from += CHUNK) {
    const codes = new Uint16Array(Math.min(CHUNK, text.length - from));
    for (let at = 0; at < codes.length; at += 1) codes[at] = upperCase[text.charCodeAt(from + at)]!;
    result += String.fromCharCode(...codes);
  }
  return result;
}

/** `Canonicalize` of the language's specification. */
function foldedCode(code: number): number {
  const upper = String.fromCharCode(code).toUpperCase();
  const to = upper.charCodeAt(0);
  return upper.length > 1 || (code >= 0x80 && to < 0x80) ? code : to;
}
