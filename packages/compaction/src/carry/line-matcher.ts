import { contentWords, termsIn } from "../record/sentence.ts";

/** So many entries of a line at most. */
const MOST_ENTRIES = 3;
/** An entry that fits less than this share of the best one is left out. */
const LEAST_SHARE = 0.6;
/** What more entries hold tells nothing. */
const MOST_USES = { term: 40, word: 16 };
/** A term that no more entries hold is specific by itself; all else has to come together with others. */
const SPECIFIC_USES = 12;
/** How many entries may hold by chance what comes together in one. */
const CHANCE = 0.01;
/** Of what an entry says, so much is read: what stands behind is seldom named again. */
const READ_CHARS = 8_000;

/** What texts can have in common: terms name a thing; words must come together to mean one. */
type FeatureKind = keyof typeof MOST_USES;

interface MatchedEntry {
  id: string;
  /** Whose text it is: what a person said is worth more than what a tool put out. */
  speaker: number;
}

/**
 * Finds the entries that lines of summaries rest on by what is specific in both: terms, or several rare words together. It
 * is given the lines first and then the entries, each once, and keeps no more of them than what the lines name.
 */
export class LineMatcher {
  /** By feature: the records that hold it. */
  readonly #holders = new Map<string, number[]>();
  /** By number of its record. */
  readonly #entries: Array<MatchedEntry | undefined> = [];

  constructor(lines: readonly string[]) {
    for (const line of lines) for (const name of featuresOf(line).keys()) this.#holders.set(name, []);
  }

  /** Takes an entry. @param number of its record */
  read(number: number, entry: MatchedEntry, text: string): void {
    this.#entries[number] = entry;
    if (this.#holders.size === 0) return;
    for (const name of featuresOf(text.slice(0, READ_CHARS)).keys()) this.#holders.get(name)?.push(number);
  }

  /**
   * What the lines of one summary have in common with what it stands for.
   * @param numbers of the records, oldest first, each once
   */
  matchesIn(numbers: readonly number[], lines: readonly string[]): LineMatches {
    const span = numbers.filter((number) => this.#entries[number] !== undefined);
    return new LineMatches({ holders: this.#holders, entries: this.#entries, span, lines });
  }
}

interface Matched {
  holders: ReadonlyMap<string, readonly number[]>;
  entries: ReadonlyArray<MatchedEntry | undefined>;
  span: readonly number[];
  lines: readonly string[];
}

/** The entries of one summary that its lines rest on. */
export class LineMatches {
  readonly #matched: Matched;
  /** A feature is of one kind in all lines of a summary. */
  readonly #kinds: ReadonlyMap<string, FeatureKind>;
  /** By number of the record: how many are older; -1 for one that the summary does not stand for. */
  readonly #places: Int32Array;

  constructor(matched: Matched) {
    this.#matched = matched;
    this.#kinds = new Map(matched.lines.flatMap((line) => [...featuresOf(line)]));
    const highest = matched.span.reduce((most, number) => Math.max(most, number), -1);
    this.#places = new Int32Array(highest + 1).fill(-1);
    for (const [place, number] of matched.span.entries()) this.#places[number] = place;
  }

  /** The entries that a line rests on, oldest first; none where nothing specific is in both. */
  entriesOf(line: string): string[] {
    const found = [...this.#fits(line)].filter(
      ([, fit]) => fit.isSpecific || fit.isWhole || this.#isNoChance(fit.bits),
    );
    const best = found.reduce((most, [, { bits }]) => Math.max(most, bits), 0);
    const chosen = found
      .filter(([, { bits }]) => bits >= best * LEAST_SHARE)
      .map(([number, { bits }]) => ({
        place: this.#places[number]!,
        bits,
        entry: this.#matched.entries[number]!,
      }))
      .sort((a, b) => b.bits - a.bits || b.entry.speaker - a.entry.speaker || b.place - a.place);
    const few = chosen.slice(0, MOST_ENTRIES).sort((a, b) => a.place - b.place);
    return [...new Set(few.map(({ entry }) => entry.id))];
  }

  /** How much each entry has in common with a line. */
  #fits(line: string): Map<number, Fit> {
    const fits = new Map<number, Fit>();
    const features = featuresOf(line);
    for (const name of features.keys()) {
      const kind = this.#kinds.get(name) ?? "word";
      const holders = this.#holdersOf(name, MOST_USES[kind]);
      const weight = kind === "term" ? TERM_WEIGHT : isPair(name) ? PAIR_WEIGHT : 1;
      const bits = weight * Math.log2((this.#matched.span.length + 1) / holders.length);
      for (const number of holders) {
        const fit = fits.get(number) ?? { bits: 0, held: 0, isWhole: false, isSpecific: false };
        fit.bits += bits;
        fit.held += 1;
        fit.isWhole = fit.held >= LEAST_WHOLE && fit.held === features.size;
        fit.isSpecific ||= kind === "term" && holders.length <= SPECIFIC_USES;
        fits.set(number, fit);
      }
    }
    return fits;
  }

  /** The records in the span that hold a feature; none where they are too many. */
  #holdersOf(name: string, most: number): number[] {
    const holders: number[] = [];
    for (const number of this.#matched.holders.get(name) ?? []) {
      if ((this.#places[number] ?? -1) < 0) continue;
      if (holders.length === most) return [];
      holders.push(number);
    }
    return holders;
  }

  /** True where hardly any entry would hold all of the words, were they strewn at random. */
  #isNoChance(bits: number): boolean {
    return bits >= Math.log2(this.#matched.span.length + 1) - Math.log2(CHANCE);
  }
}

interface Fit {
  /** How seldom is what it has in common. */
  bits: number;
  held: number;
  /** True where all that the line says is there. */
  isWhole: boolean;
  /** True where a term alone tells it. */
  isSpecific: boolean;
}

const TERM_WEIGHT = 2;
/** A line of fewer words can be anywhere. */
const LEAST_WHOLE = 3;
/** Pairs of characters overlap: each says half. */
const PAIR_WEIGHT = 0.5;

/** Terms as they are written, the name of a file also without its folders; and words, in lower case. */
function featuresOf(text: string): Map<string, FeatureKind> {
  const features = new Map<string, FeatureKind>();
  for (const word of contentWords(text)) features.set(word, "word");
  for (const term of termsIn(text)) {
    features.set(term, "term");
    const name = term.slice(term.lastIndexOf("/") + 1);
    if (name.includes(".")) features.set(name, "term");
  }
  return features;
}

function isPair(name: string): boolean {
  return name.length === 2;
}
