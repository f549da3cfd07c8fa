import { isMarked, markedSentence, replacedMark, withoutMarks } from "./marks.ts";
import { contentWords, countEach, isMeasure, isQuestion, sentencesOf, termsIn } from "./sentence.ts";

/** A message of the user, or a statement of the agent. */
export interface Statement {
  text: string;
  /** The number of the user's message, or of the one before a statement of the agent. */
  turn: number;
  isUser: boolean;
}

/** A number, or a name with punctuation. Two values of one kind and unit can replace each other. */
interface Value {
  text: string;
  kind: string;
  /** The word after a number; empty if there is none. */
  unit: string;
}

interface Sentence extends Statement {
  /** The index of its statement. */
  of: number;
  values: readonly Value[];
  /** The words that are no units and no parts of values. */
  topics: ReadonlySet<string>;
  /** All words in order. Each character of a script without spaces is a word. */
  words: readonly RegExpExecArray[];
}

/** A restated sentence keeps this share of its words. */
const MIN_SAME = 0.6;
/** The answer to a task repeats its words, and a series of tasks has them in each. */
const MAX_USES = 2;
const WORD = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{M}\p{N}]+/gu;

/** Without a common word, a correction follows within this many messages. */
const MAX_TURNS = 6;
/** A later sentence about the same amount has this share of the words. */
const MIN_SHARE = 0.5;
/** Upper bound for the earlier sentences with one value or one unit that a sentence is compared to, the latest first. */
const MAX_COMPARED = 50;

/**
 * Returns the texts, with a mark after each sentence whose value a later statement replaces: it repeats the old value
 * beside one new value ("not 30, make it 45"), gives a new amount of the same unit for the same words, or repeats the
 * sentence with another last part. These shapes are the same in every language.
 */
export function markReplaced(statements: readonly Statement[]): string[] {
  const texts = statements.map(({ text }) => text);
  const sentences = statements.flatMap((statement, of) =>
    // A command's output, as the user ran it, and pasted blocks are no statements.
    statement.text.startsWith("! ")
      ? []
      : sentencesOf(statement.text)
          .filter((text) => !text.startsWith("["))
          .map((text) => ({ ...statement, text, of, ...partsOf(withoutMarks(text)) })),
  );
  const replaced = new Replacements(sentences).find();
  for (const [{ of, text }, turn] of replaced)
    texts[of] = markedSentence(texts[of]!, text, replacedMark(turn));
  return texts;
}

class Replacements {
  readonly #rarity: ReadonlyMap<string, number>;
  readonly #uses: ReadonlyMap<string, number>;
  readonly #sentences: readonly Sentence[];
  /** The statement that first has a value. */
  readonly #first = new Map<string, number>();
  readonly #values = new Map<number, Value[]>();
  /** Values in the user's earlier messages. */
  readonly #ofUser = new Set<string>();
  /** Earlier sentences by their values, and by the units of their amounts. */
  readonly #earlier = new Map<string, Sentence[]>();
  readonly #replaced = new Map<Sentence, number>();

  constructor(sentences: readonly Sentence[]) {
    this.#sentences = sentences;
    this.#uses = countEach(sentences.flatMap(({ topics }) => [...topics]));
    this.#rarity = new Map(
      Array.from(this.#uses, ([word, count]) => [word, Math.log(1 + sentences.length / count)]),
    );
    for (const { of, values } of sentences)
      for (const value of values) {
        pushTo(this.#values, of, value);
        const key = `${nameOf(value)} ${value.unit}`;
        if (!this.#first.has(key)) this.#first.set(key, of);
      }
  }

  /** The replaced sentences, each with the number of the later message. */
  find(): ReadonlyMap<Sentence, number> {
    let open: Sentence[] = [];
    for (const later of this.#sentences) {
      if (open[0]?.of !== later.of) {
        for (const sentence of open) this.#add(sentence);
        open = [];
      }
      open.push(later);
      if (isQuestion(later.text)) continue;
      for (const value of later.values) this.#compare(value, later);
      for (const topic of this.#rareTopics(later))
        this.#replace(topic, later, (earlier) => this.#restates(earlier, later));
    }
    return this.#replaced;
  }

  #add(sentence: Sentence): void {
    for (const topic of this.#rareTopics(sentence)) pushTo(this.#earlier, topic, sentence);
    for (const value of sentence.values) {
      if (sentence.isUser) this.#ofUser.add(nameOf(value));
      pushTo(this.#earlier, nameOf(value), sentence);
      if (isAmount(value)) pushTo(this.#earlier, unitOf(value), sentence);
    }
  }

  #compare(value: Value, later: Sentence): void {
    if (later.isUser) this.#replace(nameOf(value), later, (earlier) => this.#repeats(value, earlier, later));
    if (isAmount(value) && this.#isNew(value, later))
      this.#replace(unitOf(value), later, (earlier) => this.#changes(value, earlier, later));
  }

  #replace(key: string, later: Sentence, isReplaced: (earlier: Sentence) => boolean): void {
    for (const earlier of this.#earlier.get(key)?.slice(-MAX_COMPARED) ?? []) {
      if (this.#replaced.has(earlier) || isMarked(earlier.text) || (earlier.isUser && !later.isUser))
        continue;
      if (isReplaced(earlier)) this.#replaced.set(earlier, later.turn);
    }
  }

  #rareTopics({ topics }: Sentence): string[] {
    return [...topics].filter((topic) => this.#isRare(topic));
  }

  #isRare(word: string): boolean {
    return (this.#uses.get(word) ?? 0) <= MAX_USES;
  }

  /** True if the sentences differ in one part only, after at least two words that no other sentence has. */
  #restates(earlier: Sentence, later: Sentence): boolean {
    const [a, b] = [earlier.words, later.words];
    const [least, most] = [Math.min(a.length, b.length), Math.max(a.length, b.length)];
    let start = 0;
    while (start < least && a[start]![0] === b[start]![0]) start++;
    let end = 0;
    while (end < least - start && a.at(-1 - end)![0] === b.at(-1 - end)![0]) end++;
    const same = start + end;
    if (same === least || same < MIN_SAME * most) return false;
    const subject = contentWords(earlier.text.slice(0, a[start]!.index));
    return subject.size > 1 && [...subject].every((word) => this.#isRare(word));
  }

  /** True if the user repeats the old value beside exactly one new value. */
  #repeats(value: Value, earlier: Sentence, later: Sentence): boolean {
    const old = earlier.values.find((one) => nameOf(one) === nameOf(value))!;
    const isNear = later.turn - earlier.turn <= MAX_TURNS;
    if (!fits(value, old) && !(isNear && value.text.length > 1)) return false;
    if (old.text.length < 2 && !hasOwnUnit(old, earlier)) return false;
    // Only the user's own words with the value are revised, if there are any.
    if (!earlier.isUser && this.#ofUser.has(nameOf(old))) return false;
    if (!isNear && commonTopics(earlier, later).length === 0) return false;
    const unit = old.unit || value.unit;
    const others = this.#values
      .get(later.of)!
      .filter((one) => one.kind === old.kind && one.text !== old.text && this.#isNew(one, later));
    const ofUnit = others.filter((one) => one.unit === unit);
    return (ofUnit.length > 0 ? ofUnit : others).length === 1;
  }

  /** True if the later sentence has another amount of the same unit, and mostly the same words. */
  #changes(value: Value, earlier: Sentence, later: Sentence): boolean {
    const amounts = ({ values }: Sentence) =>
      values.filter((one) => isAmount(one) && unitOf(one) === unitOf(value));
    const [old, ...others] = amounts(earlier);
    if (others.length > 0 || amounts(later).length > 1 || later.text.includes(old!.text)) return false;
    const isNear = later.turn - earlier.turn <= MAX_TURNS;
    const common = commonTopics(earlier, later);
    const share = this.#weight(common) / Math.min(this.#weight(earlier.topics), this.#weight(later.topics));
    return common.length >= (isNear ? 1 : 2) && share >= MIN_SHARE;
  }

  #isNew(value: Value, { of }: Sentence): boolean {
    return this.#first.get(`${nameOf(value)} ${value.unit}`) === of;
  }

  #weight(words: Iterable<string>): number {
    let sum = 0;
    for (const word of words) sum += this.#rarity.get(word)!;
    return sum;
  }
}

function pushTo<Key, Item>(lists: Map<Key, Item[]>, key: Key, item: Item): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}

const AMOUNTS: ReadonlySet<string> = new Set(["number", "time", "date"]);

/** True for a value with a unit, and for a time or a date. */
function isAmount({ kind, unit }: Value): boolean {
  return AMOUNTS.has(kind) && (kind !== "number" || unit !== "");
}

function nameOf({ kind, text }: Value): string {
  return `${kind} ${text}`;
}

function unitOf({ kind, unit }: Value): string {
  return `${kind} of ${unit}`;
}

function fits(a: Value, b: Value): boolean {
  return a.unit === b.unit || a.unit === "" || b.unit === "";
}

/** True if the unit follows the number without a space: `6h`. */
function hasOwnUnit({ text, unit }: Value, sentence: Sentence): boolean {
  return unit !== "" && sentence.text.toLowerCase().includes(text + unit);
}

function commonTopics(earlier: Sentence, later: Sentence): string[] {
  return [...later.topics].filter((word) => earlier.topics.has(word));
}

const NUMBER =
  /(?<![\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}_./-])([$€£¥]?)(\d+(?:[.,:]\d+)*(?:[/-]\d+(?:[/-]\d+)?)?)(?![.)]\s)\.?(?:\s?(%|\p{L}+))?(?!\d)/gu;

function partsOf(text: string): Pick<Sentence, "values" | "topics" | "words"> {
  const names = [...termsIn(text)].filter((term) => !isMeasure(term));
  let rest = text;
  for (const name of names) rest = rest.replaceAll(name, " ");
  const numbers = Array.from(rest.matchAll(NUMBER), ([, sign = "", number = "", word = ""]) => ({
    text: number,
    kind: number.includes(":") ? "time" : /[/-]|\.\d+\.\d/.test(number) ? "date" : "number",
    unit: sign || unitIn(word.toLowerCase()),
  }));
  const values = [...names.flatMap(nameValue), ...numbers];
  const isOfValue = (word: string) =>
    values.some(({ unit, text: own }) => unit === word || own.includes(word));
  const topics = [...contentWords(text)].filter((word) => !/\d/.test(word) && !isOfValue(word));
  return { values, topics: new Set(topics), words: [...text.toLowerCase().matchAll(WORD)] };
}

/** The first character of a run of Chinese characters is the unit; a particle is none. */
function unitIn(word: string): string {
  if (/^\p{Script=Hiragana}/u.test(word)) return "";
  return /^[\p{Script=Han}\p{Script=Katakana}]/u.test(word) ? [...word][0]! : word;
}

/** Names have the kind of their first punctuation: paths, addresses, names with underscores. */
function nameValue(name: string): Value[] {
  const kind = ["://", "/", "_", ".", "-"].find((mark) => name.includes(mark));
  return kind === undefined ? [] : [{ text: name.toLowerCase(), kind, unit: "" }];
}
