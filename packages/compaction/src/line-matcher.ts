import { contentWords, termsIn } from "@bonsai-agent/digest";

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

/** Something that texts can have in common, and the entries that hold it. */
interface Feature {
  /** Specific terms name a thing; words must come together to mean one. */
  readonly kind: keyof typeof MOST_USES;
  /** Pairs of characters overlap: each says half. */
  readonly share: number;
  uses: number;
  /** The entries that hold it, by number; too many are not kept. */
  entries: number[];
}

interface MatchedEntry {
  id: string;
  /** Whose text it is: what a person said is worth more than what a tool put out. */
  speaker: number;
}

/**
 * Finds the entries that lines of a summary rest on by what is specific in both: terms, or several rare words together. It
 * is given the lines first and then the entries, one after the other, and keeps no more of them than what the lines name.
 */
export class LineMatcher {
  readonly #features = new Map<string, Feature>();
  readonly #entries = new Map<number, MatchedEntry>();
  #count = 0;

  constructor(lines: readonly string[]) {
    for (const line of lines)
      for (const [name, kind] of featuresOf(line))
        this.#features.set(name, { kind, share: isPair(name) ? 0.5 : 1, uses: 0, entries: [] });
  }

  /** Takes the next entry, oldest first. */
  read(entry: MatchedEntry, text: string): void {
    const number = this.#count;
    this.#count += 1;
    if (this.#features.size === 0) return;
    for (const [name] of featuresOf(text.slice(0, READ_CHARS))) {
      const feature = this.#features.get(name);
      if (feature === undefined) continue;
      feature.uses += 1;
      if (feature.uses > MOST_USES[feature.kind]) feature.entries = [];
      else {
        feature.entries.push(number);
        this.#entries.set(number, entry);
      }
    }
  }

  /** The entries that a line rests on, oldest first; none where nothing specific is in both. */
  entriesOf(line: string): string[] {
    const found = [...this.#fits(line)].filter(
      ([, fit]) => fit.isSpecific || fit.isWhole || this.#isNoChance(fit.bits),
    );
    const best = found.reduce((most, [, { bits }]) => Math.max(most, bits), 0);
    const chosen = found
      .filter(([, { bits }]) => bits >= best * LEAST_SHARE)
      .map(([number, { bits }]) => ({ number, bits, entry: this.#entries.get(number)! }))
      .sort((a, b) => b.bits - a.bits || b.entry.speaker - a.entry.speaker || b.number - a.number);
    const few = chosen.slice(0, MOST_ENTRIES).sort((a, b) => a.number - b.number);
    return [...new Set(few.map(({ entry }) => entry.id))];
  }

  /** How much each entry has in common with a line. */
  #fits(line: string): Map<number, Fit> {
    const fits = new Map<number, Fit>();
    const features = featuresOf(line);
    for (const [name] of features) {
      const { kind, share, uses, entries } = this.#features.get(name) ?? UNKNOWN;
      const weight = kind === "term" ? TERM_WEIGHT : share;
      const bits = weight * Math.log2((this.#count + 1) / uses);
      for (const number of entries) {
        const fit = fits.get(number) ?? { bits: 0, held: 0, isWhole: false, isSpecific: false };
        fit.bits += bits;
        fit.held += 1;
        fit.isWhole = fit.held >= LEAST_WHOLE && fit.held === features.size;
        fit.isSpecific ||= kind === "term" && uses <= SPECIFIC_USES;
        fits.set(number, fit);
      }
    }
    return fits;
  }

  /** True where hardly any entry would hold all of the words, were they strewn at random. */
  #isNoChance(bits: number): boolean {
    return bits >= Math.log2(this.#count + 1) - Math.log2(CHANCE);
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
const UNKNOWN: Feature = { kind: "word", share: 0, uses: 0, entries: [] };

/** Terms as they are written, the name of a file also without its folders; and words, in lower case. */
function featuresOf(text: string): Map<string, Feature["kind"]> {
  const features = new Map<string, Feature["kind"]>();
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
