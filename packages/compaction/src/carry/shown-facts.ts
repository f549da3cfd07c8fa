import type { Todo } from "../details.ts";
import { readCommands } from "../record/commands.ts";
import type { Outcome } from "../record/outcomes.ts";
import { sentencesOf, unspacedPairs } from "../record/sentence.ts";

/** The state of the work that a line reports, by its heading. */
type WorkState = "open" | "done" | undefined;

/** A list item with its continuation, or two sentences of a paragraph. */
interface Passage {
  state: WorkState;
  words: Words;
}

/** Minimum share of the words of a fact, or of a part of it, in the passage that states it. */
const SHARES = { todo: 0.6, act: 0.8, result: 0.7, command: 0.5, error: 0.5, errorBesideCommand: 0.3 };
/** Minimum number of words of a fact, if it has twice as many. */
const MIN_WORDS = { act: 2, failure: 3 };

/**
 * Finds facts in a text. A passage states a fact if it has enough of the fact's words, does not replace one of them, and
 * reports the same state: a passage about finished work does not show a failing command.
 */
export class ShownFacts {
  readonly #text: string;
  #splitPassages: readonly Passage[] | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  /** Split at the first use, because a context can be long and many spans have no facts. */
  get #passages(): readonly Passage[] {
    this.#splitPassages ??= passagesOf(this.#text);
    return this.#splitPassages;
  }

  has(outcome: Outcome): boolean {
    if ("text" in outcome) return this.#hasTodo(wordsOf(outcome.text));
    return "times" in outcome
      ? this.#hasAct(commandWords(outcome.command), wordsOf(outcome.result ?? ""))
      : this.#hasFailure(outcome.key.split(" && ").map(commandWords), wordsOf(outcome.line));
  }

  /** True if each section for open work has at most one sentence, without a name and not about the request or a to-do. */
  hidesRequest(request: string, todos: readonly Todo[]): boolean {
    const words = wordsOf(request);
    const open = this.#passages.filter(({ state }) => state === "open");
    const isAbout = (shown: Words) =>
      share(shown, words) * words.weight >= Math.min(MIN_ABOUT, words.weight / 2);
    const isEmpty = (shown: Words) => shown.weight <= MAX_EMPTY_WEIGHT && !hasNames(shown) && !isAbout(shown);
    if (open.length === 0 || open.length > MAX_EMPTY || todos.some((todo) => this.has(todo))) return false;
    return open.every(({ words: shown }) => isEmpty(shown));
  }

  /** If the text has sections for open work, the to-do must be in one. */
  #hasTodo(todo: Words): boolean {
    const hasOpenWork = this.#passages.some(({ state }) => state === "open");
    return this.#passages.some(
      ({ state, words: shown }) =>
        (hasOpenWork ? state === "open" : state !== "done") &&
        share(shown, todo) >= SHARES.todo &&
        !contradicts(shown, todo),
    );
  }

  #hasAct(command: Words, result: Words): boolean {
    const all = joined([command, result]);
    return this.#passages.some(
      ({ state, words: shown }) =>
        state !== "open" &&
        (share(shown, command) >= SHARES.act || share(shown, result) >= SHARES.result) &&
        hasWords(shown, all, MIN_WORDS.act) &&
        !contradicts(shown, all),
    );
  }

  #hasFailure(commands: readonly Words[], error: Words): boolean {
    const all = joined([...commands, error]);
    return this.#passages.some(({ state, words: shown }) => {
      if (state === "done" || !hasWords(shown, all, MIN_WORDS.failure) || contradicts(shown, all))
        return false;
      const isNamed = commands.some((command) => share(shown, command) >= SHARES.command);
      if (isNamed) return error.weight === 0 || share(shown, error) >= SHARES.errorBesideCommand;
      return hasNames(error) && Math.max(share(shown, error), nameShare(shown, error)) >= SHARES.error;
    });
  }
}

/** Minimum weight of shared words between a request and a sentence about it. */
const MIN_ABOUT = 2;
/** A sentence like "Nothing is open" is short, and each section has at most one. */
const MAX_EMPTY_WEIGHT = 10;
const MAX_EMPTY = 4;

/** The parts of a text that can identify it. */
interface Words {
  /** The weight of each word, in lower case. */
  weights: ReadonlyMap<string, number>;
  /** The sum of the weights. */
  weight: number;
  /** Values by the word before them: files and folders by their folder, numbers by their noun. */
  values: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Folders and short words weigh less: a short path names only the last folder, and often only the file. */
const WEIGHT = { name: 3, number: 2, word: 1, short: 0.5, folder: 0.25 };

const WORD = /[\p{L}\p{N}\p{M}_$@#][\p{L}\p{N}\p{M}_$@#.+-]*/gu;
const NUMBER = /^\d+(?:[.,]\d+)*$/;
/** Separates a number from its noun: `Errors: 4`, `"number": 83`, `VARCHAR(255)`. */
const BEFORE_NUMBER = /^["'\s:=(]{1,4}$/;

/** The words of a text; in scripts without spaces, pairs of characters. */
function wordsOf(text: string): Words {
  const weights = new Map<string, number>();
  const values = new Map<string, Set<string>>();
  const add = (word: string, weight: number) => weights.set(word, Math.max(weight, weights.get(word) ?? 0));
  const { pairs, spaced } = unspacedPairs(text);
  for (const pair of pairs) add(pair, WEIGHT.short);
  let before: { word: string; end: number } | undefined;
  for (const match of spaced.matchAll(WORD)) {
    const written = match[0].replace(/[.+-]+$/, "");
    const word = written.toLowerCase();
    const end = match.index + match[0].length;
    const isFolder = /^\/[\w.*]/.test(spaced.slice(end, end + 2));
    add(word, isFolder ? WEIGHT.folder : weightOf(written));
    const between = spaced.slice(before?.end ?? 0, match.index);
    const isValue = between === "/" || (NUMBER.test(word) && BEFORE_NUMBER.test(between));
    if (before !== undefined && isValue) {
      const place = between === "/" ? `${before.word}/` : before.word;
      values.set(place, (values.get(place) ?? new Set()).add(word));
    }
    before = { word, end };
  }
  return withWeight(weights, values);
}

function withWeight(weights: Words["weights"], values: Words["values"]): Words {
  return { weights, values, weight: [...weights.values()].reduce((sum, weight) => sum + weight, 0) };
}

function weightOf(written: string): number {
  if (NUMBER.test(written)) return written.length > 1 ? WEIGHT.number : WEIGHT.short;
  if (/\d|[\p{L}\p{N}][._][\p{L}\p{N}]|\p{Ll}\p{Lu}|_/u.test(written)) return WEIGHT.name;
  return written.length > 3 ? WEIGHT.word : WEIGHT.short;
}

/** The words of a command without its options. */
function commandWords(command: string): Words {
  const written = readCommands(command)
    .flatMap(({ commands }) => commands.flatMap(({ raws }) => raws))
    .filter((raw) => !raw.startsWith("-"));
  return wordsOf(written.join(" ") || command);
}

function joined(parts: readonly Words[]): Words {
  const weights = new Map<string, number>();
  for (const [word, weight] of parts.flatMap((part) => [...part.weights]))
    weights.set(word, Math.max(weight, weights.get(word) ?? 0));
  const values = new Map<string, ReadonlySet<string>>();
  for (const [place, own] of parts.flatMap((part) => [...part.values]))
    values.set(place, new Set([...(values.get(place) ?? []), ...own]));
  return withWeight(weights, values);
}

function hasNames({ weights }: Words): boolean {
  return [...weights.values()].some((weight) => weight >= WEIGHT.number);
}

/** The weighted share of a fact's words. */
function share(shown: Words, { weights, weight }: Words): number {
  let found = 0;
  for (const [word, each] of weights) if (shown.weights.has(word)) found += each;
  return weight === 0 ? 0 : found / weight;
}

/** The share of names and numbers, which are the same in every language. 0 if the text shows only one. */
function nameShare(shown: Words, { weights, values }: Words): number {
  const names = withWeight(new Map([...weights].filter(([, weight]) => weight >= WEIGHT.number)), values);
  return hasWords(shown, names, 2) ? share(shown, names) : 0;
}

/** True if the text shows `min` of a fact's words, or half of them. */
function hasWords(shown: Words, { weights }: Words, min: number): boolean {
  const found = [...weights.keys()].filter((word) => shown.weights.has(word)).length;
  return found >= Math.min(min, Math.ceil(weights.size / 2));
}

/** True if the text has a different value: another file in the same folder, another number, other digits in a name. */
function contradicts(shown: Words, own: Words): boolean {
  const isOther = (word: string) => !own.weights.has(word);
  for (const [place, values] of own.values) {
    const others = shown.values.get(place);
    if (
      others !== undefined &&
      ![...values].some((value) => shown.weights.has(value)) &&
      [...others].some(isOther)
    )
      return true;
  }
  const digits = new Map(
    [...shown.weights.keys()].filter(isOther).map((word) => [withoutDigits(word), word]),
  );
  return [...own.weights].some(
    ([word, weight]) =>
      weight >= WEIGHT.number &&
      /\d.*\D|\D.*\d|\d{3}/.test(word) &&
      !shown.weights.has(word) &&
      digits.has(withoutDigits(word)),
  );
}

function withoutDigits(word: string): string {
  return word.replaceAll(/\d/g, "0");
}

const HEADING = /^\s{0,3}#{1,6}\s+(.*?)\s*$/;
/** The headings from the summary prompt. */
const STATES: Readonly<Record<string, WorkState>> = {
  Done: "done",
  "Done So Far": "done",
  "In Progress": "open",
  Blocked: "open",
  "Next Steps": "open",
  "Needed to Continue": "open",
};
const ITEM = /^(\s*)(?:[-*+•]|\d{1,3}[.)])\s/;
/** Maximum number of sentences that state one fact together. */
const SENTENCES = 2;

/** The lines of a list item or of a paragraph. */
interface Block {
  state: WorkState;
  lines: string[];
  /** Undefined for a paragraph. */
  indent?: number;
}

function passagesOf(text: string): Passage[] {
  return blocksOf(text).flatMap(({ state, lines, indent }) => {
    const whole = lines.join("\n");
    if (indent !== undefined) return [{ state, words: wordsOf(whole) }];
    const sentences = sentencesOf(whole).map(wordsOf);
    const starts = sentences.slice(0, Math.max(1, sentences.length - SENTENCES + 1));
    return starts.map((_, at) => ({ state, words: joined(sentences.slice(at, at + SENTENCES)) }));
  });
}

function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let state: WorkState;
  let block: Block | undefined;
  const begin = (next: Block) => {
    block = next;
    blocks.push(next);
  };
  for (const line of text.split("\n")) {
    const [, heading] = HEADING.exec(line) ?? [];
    const [item, indent = ""] = ITEM.exec(line) ?? [];
    const isNested = block?.indent !== undefined && indent.length > block.indent;
    if (heading !== undefined) state = STATES[heading];
    if (heading !== undefined || line.trim() === "") block = undefined;
    else if (item !== undefined && !isNested) begin({ state, lines: [line], indent: indent.length });
    else if (block === undefined) begin({ state, lines: [line] });
    else block.lines.push(line);
  }
  return blocks;
}
