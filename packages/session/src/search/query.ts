/** A query for the texts of entries. */
export interface SearchQuery {
  /** Each term is found as written within one text of an entry, in any case. Empty terms are ignored. */
  terms: readonly string[];
  /**
   * `all` (default): entries with every term. `any`: entries with at least one term; more and rarer terms rank higher. For
   * `any`, terms of one or two ASCII characters only select entries if there are no longer terms.
   */
  match?: "all" | "any";
}

/** A query by a regular expression. */
export interface PatternQuery {
  /** Finds the first match in each text, by the number of the text. It can run elsewhere: a pattern may never end. */
  findTexts: (texts: readonly string[]) => Promise<ReadonlyMap<number, TextRange>>;
}

/** A range of a text. */
export interface TextRange {
  start: number;
  end: number;
}

/** Maximum number of terms; the others are ignored. */
const MAX_TERMS = 64;
/** A longer term is found by its beginning: the engine's search can take the product of both lengths. */
const MAX_TERM_CHARACTERS = 1000;

/** Splits at blanks, except inside double quotes. A quote that does not close, or inside a word, is part of the word. */
export function parseSearchQuery(text: string, match: "all" | "any" = "all"): SearchQuery {
  const terms = new Map<string, string>();
  for (const [, phrase, word] of text.matchAll(/"([^"]*)"|"?(\S+)/g)) {
    const term = phrase?.trim() ?? word ?? "";
    if (term !== "" && terms.size < MAX_TERMS) terms.set(caseFolded(term), term);
  }
  return { terms: [...terms.values()], match };
}

/** The places of a query's terms in the texts of an entry. */
export interface EntryMatch extends TextRange {
  /** By number of the term: its occurrences. */
  counts: number[];
  /** Length of all texts. */
  characters: number;
  /** The text with the most terms. The range is that of the longest of them. */
  text: string;
}

const SHORT = /^[\0-\x7f]{1,2}$/;
/** More occurrences of a term in one text do not count. */
const MAX_COUNTED = 64;

/** A query made ready. Decides which entries match: the index only proposes entries. */
export class QueryMatcher {
  /** Case-folded. None for a pattern. */
  readonly terms: readonly string[];
  readonly match: "all" | "any";
  /** By number of the term: true if the term alone selects entries. */
  readonly selects: readonly boolean[];
  readonly #findTexts: PatternQuery["findTexts"] | undefined;
  readonly #lineFilters: readonly RegExp[];

  constructor(query: SearchQuery | PatternQuery) {
    const { terms, match = "all" } = "terms" in query ? query : { terms: [] };
    const cut = terms.slice(0, MAX_TERMS).map((term) => caseFolded(term.slice(0, MAX_TERM_CHARACTERS)));
    this.terms = [...new Set(cut)].filter((term) => term !== "");
    this.match = match;
    const isLong = this.terms.map((term) => !SHORT.test(term));
    this.selects = isLong.includes(true) ? isLong : isLong.map(() => true);
    this.#findTexts = "findTexts" in query ? query.findTexts : undefined;
    const filtered = this.terms.filter((_, term) => match === "all" || this.selects[term]);
    this.#lineFilters = filtered.map(lineFilter);
  }

  /** True for a query that finds nothing. */
  get isEmpty(): boolean {
    return this.terms.length === 0 && this.#findTexts === undefined;
  }

  /** False if the stored line of an entry cannot match. @param line its bytes as Latin-1 */
  mayMatch(line: string): boolean {
    if (this.#findTexts !== undefined) return true;
    if (this.match === "all") return this.#lineFilters.every((filter) => filter.test(line));
    return this.#lineFilters.some((filter) => filter.test(line));
  }

  /** The matches of several entries; undefined for an entry that does not match. */
  async findAll(entries: readonly (readonly string[])[]): Promise<(EntryMatch | undefined)[]> {
    if (this.#findTexts === undefined) return entries.map((texts) => this.find(texts));
    const found = await this.#findTexts(entries.flat());
    let next = 0;
    return entries.map((texts) => {
      const first = next;
      next += texts.length;
      const at = texts.findIndex((_text, index) => found.has(first + index));
      if (at < 0) return undefined;
      return { counts: [1], characters: charactersOf(texts), text: texts[at]!, ...found.get(first + at)! };
    });
  }

  /** The match of the terms in the texts of one entry. Time is linear in the texts. */
  find(texts: readonly string[]): EntryMatch | undefined {
    const counts = this.terms.map(() => 0);
    let best: (TextRange & { text: string; terms: number }) | undefined;
    for (const text of texts) {
      const here = this.#findIn(text, counts);
      if (here !== undefined && here.terms > (best?.terms ?? 0)) best = { text, ...here };
    }
    const isFound =
      this.match === "all"
        ? counts.every((count) => count > 0)
        : counts.some((count, term) => count > 0 && this.selects[term]);
    if (!isFound || best === undefined) return undefined;
    const { text, start, end } = best;
    return { counts, characters: charactersOf(texts), text, start, end };
  }

  #findIn(text: string, counts: number[]): (TextRange & { terms: number }) | undefined {
    const folded = caseFolded(text);
    let [terms, start, end] = [0, 0, 0];
    for (const [number, term] of this.terms.entries()) {
      const first = folded.indexOf(term);
      if (first < 0) continue;
      terms += 1;
      if (term.length > end - start) [start, end] = [first, first + term.length];
      let count = 0;
      for (let at = first; at >= 0 && count < MAX_COUNTED; at = folded.indexOf(term, at + term.length))
        count += 1;
      counts[number]! += count;
    }
    return terms === 0 ? undefined : { terms, start, end };
  }
}

/** Length of all texts. */
export function charactersOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0);
}

/** A longer run excludes hardly more lines, and takes longer to find. */
const MAX_FILTERED = 64;

/**
 * JSON writes letters and digits as they are or as `\uXXXX`. A line that has neither the longest run of them in the term
 * nor any `\u` cannot match.
 */
function lineFilter(term: string): RegExp {
  const runs = term.match(/[A-Za-z0-9 ]+/g) ?? [];
  const longest = runs.reduce((a, b) => (b.length > a.length ? b : a), "").slice(0, MAX_FILTERED);
  return new RegExp(longest === "" ? "" : `${longest}|\\\\u`, "i");
}

/** Letters whose upper case is ASCII, and the surrogates of scripts with cases. */
const FOLDED_ALONE = /[\u0131\u017f\ud800-\ud83b]/;
const PARTS = /[\0-\x7f]+|[^\0-\x7f]/g;

/**
 * A text without case, as regular expressions with the flag `i` compare texts. Each character keeps its place: a letter
 * whose upper case is longer, or only its upper case is ASCII, stays as it is.
 */
export function caseFolded(text: string): string {
  const upper = text.toUpperCase();
  // Upper case is never shorter: if the length is the same, no letter became two.
  if (upper.length === text.length && !FOLDED_ALONE.test(text)) return upper;
  return text.replaceAll(PARTS, (part) => {
    const folded = part.toUpperCase();
    return folded.length > part.length || (part > "\x7f" && folded <= "\x7f") ? part : folded;
  });
}
