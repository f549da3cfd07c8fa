import { estimateTokens } from "@bonsai-agent/messages";
import { withoutMarks } from "./marks.ts";
import { countEach, normalForm, sentencesOf, termsIn, wordsOfForm } from "./sentence.ts";

/** The budget of one kind of texts. */
export interface SelectionOptions {
  maxTokens: number;
  /** The tokens that a text needs besides its sentences. */
  tokensBeside: (at: number) => number;
  /** True if a sentence needs the later sentences on its subject, because they may revoke it. */
  needsLater?: boolean;
  /** The topic to prefer. Default: none. */
  focus?: string | undefined;
}

/** A sentence of a text. */
interface Sentence {
  /** The index of its text. */
  of: number;
  text: string;
  tokens: number;
  /** The information of each of its words, terms and numbers. */
  parts: ReadonlyMap<string, number>;
}

/** Replaces omitted sentences. */
const LEFT_OUT = "…";
const MARK_TOKENS = 1;
/** Information of a term or a number, in addition to its rarity. */
const SPECIFIC = 5;
/** Factor for a sentence on the preferred topic. */
const FOCUS = 4;
/**
 * Tokens added to the size of each sentence, so that short remarks do not win. On annotated sessions, 60 shows more facts
 * than 15, 30 and 100.
 */
const BASE_TOKENS = 60;

/**
 * Keeps the sentences with the most information that fit, in their order. A text without kept sentences is undefined. The
 * information of a sentence is the rarity of its words, terms and numbers that no kept sentence has yet.
 *
 * Invariant with `needsLater`: of two sentences with a word that no other sentence has, the earlier one is never kept
 * without the later one.
 */
export function selectedTexts(texts: readonly string[], options: SelectionOptions): (string | undefined)[] {
  const { maxTokens, tokensBeside } = options;
  const whole = texts.map((text, at) => estimateTokens(text) + tokensBeside(at));
  if (whole.reduce((sum, tokens) => sum + tokens, 0) <= maxTokens) return [...texts];
  const sentences = sentencesIn(texts, options.focus);
  const kept = new Selection(sentences, options).fill();
  const byText = Map.groupBy(sentences, ({ of }) => of);
  return texts.map((text, of) => keptText(text, byText.get(of) ?? [], kept));
}

/** A sentence with its information for its size, as last computed. Each kept sentence lowers it for the others. */
interface Ranked {
  sentence: Sentence;
  /** Its place among all sentences. */
  at: number;
  worth: number;
}

function byWorth(a: Ranked, b: Ranked): number {
  return a.worth - b.worth || a.at - b.at;
}

/** Fills a budget with sentences: next comes the one that adds the most information for its size. */
class Selection {
  readonly #kept = new Set<Sentence>();
  readonly #texts = new Set<number>();
  readonly #known = new Set<string>();
  readonly #options: SelectionOptions;
  /** The best is last; of equal sentences, the latest. */
  readonly #queue: Ranked[];
  readonly #later: ReadonlyMap<Sentence, ReadonlySet<Sentence>>;
  #tokens = 0;

  constructor(sentences: readonly Sentence[], options: SelectionOptions) {
    this.#options = options;
    this.#later = options.needsLater ? laterOnSubjects(sentences) : new Map();
    this.#queue = sentences.map((sentence, at) => ({ sentence, at, worth: this.#worth(sentence) }));
    this.#queue.sort(byWorth);
  }

  fill(): ReadonlySet<Sentence> {
    for (let next = this.#queue.pop(); next !== undefined; next = this.#queue.pop()) {
      const { sentence, at } = next;
      if (this.#kept.has(sentence) || !this.#fits([sentence])) continue;
      const worth = this.#worth(sentence);
      const best = this.#queue.at(-1);
      if (best !== undefined && byWorth({ sentence, at, worth }, best) < 0)
        this.#rank({ sentence, at, worth });
      else if (worth > 0) this.#keepWithLater(sentence);
    }
    return this.#kept;
  }

  #rank(ranked: Ranked): void {
    let [from, to] = [0, this.#queue.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (byWorth(this.#queue[middle]!, ranked) < 0) from = middle + 1;
      else to = middle;
    }
    this.#queue.splice(from, 0, ranked);
  }

  #keepWithLater(sentence: Sentence): void {
    const group = [sentence, ...this.#laterThan(sentence)].filter((each) => !this.#kept.has(each));
    if (this.#fits(group)) for (const each of group) this.#keep(each);
  }

  #fits(group: readonly Sentence[]): boolean {
    const tokens = group.reduce((sum, sentence) => sum + this.#size(sentence), 0);
    return this.#tokens + tokens <= this.#options.maxTokens;
  }

  /** The later sentences on the subjects of a sentence, and recursively the later ones on theirs. */
  #laterThan(first: Sentence): Set<Sentence> {
    const found = new Set(this.#later.get(first));
    for (const sentence of found) for (const later of this.#later.get(sentence) ?? []) found.add(later);
    return found;
  }

  #keep(sentence: Sentence): void {
    this.#tokens += this.#size(sentence);
    this.#kept.add(sentence);
    this.#texts.add(sentence.of);
    for (const part of sentence.parts.keys()) this.#known.add(part);
  }

  #worth(sentence: Sentence): number {
    return this.#added(sentence) / (this.#size(sentence) + BASE_TOKENS);
  }

  #added({ parts }: Sentence): number {
    let sum = 0;
    for (const [part, information] of parts) if (!this.#known.has(part)) sum += information;
    return sum;
  }

  #size({ of, tokens }: Sentence): number {
    return tokens + (this.#texts.has(of) ? 0 : this.#options.tokensBeside(of) + MARK_TOKENS);
  }
}

/** For each sentence, the later sentence that shares a word with it that no other sentence has. */
function laterOnSubjects(sentences: readonly Sentence[]): Map<Sentence, ReadonlySet<Sentence>> {
  const uses = countEach(sentences.flatMap(({ parts }) => [...parts.keys()]));
  const last = new Map<string, Sentence>();
  for (const sentence of sentences) for (const part of sentence.parts.keys()) last.set(part, sentence);
  return new Map(
    sentences.map((sentence) => {
      const subjects = [...sentence.parts.keys()].filter((part) => uses.get(part) === 2);
      const others = subjects.map((part) => last.get(part)!).filter((one) => one !== sentence);
      return [sentence, new Set(others)];
    }),
  );
}

function sentencesIn(texts: readonly string[], focus = ""): Sentence[] {
  const read = texts.flatMap((text, of) =>
    sentencesOf(text).map((sentence) => ({
      of,
      text: unmarked(sentence),
      words: partsOf(unmarked(sentence)),
    })),
  );
  const uses = countEach(read.flatMap(({ words }) => [...words.keys()]));
  const focused = new Set(partsOf(focus).keys());
  return read.map(({ of, text, words }) => {
    const factor = [...words.keys()].some((word) => focused.has(word)) ? FOCUS : 1;
    const parts = new Map(
      Array.from(words, ([word, specific]) => {
        const rarity = Math.log(1 + read.length / uses.get(word)!);
        return [word, factor * (rarity + specific)];
      }),
    );
    return { of, text, tokens: estimateTokens(text) + 1, parts };
  });
}

/** The words, terms and numbers of a sentence, each with its information besides rarity. */
function partsOf(marked: string): Map<string, number> {
  const sentence = withoutMarks(marked);
  const form = normalForm(sentence);
  // The whole form counts as one word, so only repeated sentences have no information.
  const parts = new Map(Array.from([form, ...wordsOfForm(form)], (word) => [word, 0]));
  for (const [digits] of form.matchAll(/\p{N}+/gu)) parts.set(digits, SPECIFIC);
  for (const term of termsIn(sentence)) parts.set(term, SPECIFIC);
  return parts;
}

/** Removes the marks of an earlier selection from both ends. */
function unmarked(sentence: string): string {
  return sentence.replace(/^…\s+/, "").replace(/\s+…$/, "");
}

function keptText(text: string, own: readonly Sentence[], kept: ReadonlySet<Sentence>): string | undefined {
  if (own.length === 0) return undefined;
  const tokens = own.reduce((sum, sentence) => sum + sentence.tokens, 0);
  // If a sentence was clipped, the whole text has more tokens than its sentences.
  if (own.every((sentence) => kept.has(sentence)) && estimateTokens(text) <= tokens) return text;
  const parts: string[] = [];
  for (const sentence of own) {
    if (kept.has(sentence)) parts.push(sentence.text);
    else if (parts.at(-1) !== LEFT_OUT) parts.push(LEFT_OUT);
  }
  return parts.every((part) => part === LEFT_OUT) ? undefined : parts.join(" ");
}
