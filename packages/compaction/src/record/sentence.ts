import { estimateTokens, shortened, textHead } from "@bonsai-agent/messages";
import { textTail } from "@bonsai-agent/messages/host";

const MAX_SENTENCE_CHARS = 600;

/** The sentences of a text, with their punctuation. A sentence ends with its line, so list items are never joined. */
export function sentencesOf(text: string): string[] {
  return text
    .split("\n")
    .flatMap((line) => line.split(SENTENCE_END))
    .map((sentence) => sentence.trim())
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence))
    .map(clipSentence);
}

/** The point of an ordinal does not end a sentence: "a 3. fejezet" continues in lower case. */
const SENTENCE_END =
  /(?<=[.!?…][)"'»”’\]]?)(?<!(?:^|\s)\p{N}{1,3}\.(?=\s+\p{Ll}))\s+(?=\S)|(?<=[。！？｡।؟])(?=\S)/u;

/** Keeps head and tail of a text that is too long for a sentence. */
function clipSentence(sentence: string): string {
  if (sentence.length <= MAX_SENTENCE_CHARS) return sentence;
  const head = textHead(sentence, MAX_SENTENCE_CHARS / 2);
  return `${head} […] ${textTail(sentence, MAX_SENTENCE_CHARS / 3)}`;
}

/** The text in lower case, with single spaces and without punctuation. Messages with the same form count as equal. */
export function normalForm(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}]+/gu, " ")
    .trim();
}

/** The normal form with a mark for each number, path, identifier and quotation. Routine requests share one shape. */
export function routineShape(sentence: string): string {
  let shape = sentence.replaceAll(/"[^"]*"|`[^`]*`|“[^”]*”|«[^»]*»|「[^」]*」/gu, "#");
  for (const term of termsIn(shape)) shape = shape.replaceAll(term, "#");
  return shape
    .toLowerCase()
    .replaceAll(/[\p{N}]+/gu, "#")
    .replaceAll(/[^\p{L}\p{M}#]+/gu, " ")
    .trim();
}

/** The normal form with a mark for each number. Repeated reports share one shape. */
export function reportShape(sentence: string): string {
  return normalForm(sentence).replaceAll(/\p{N}+/gu, "#");
}

const UNSPACED_RUN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]+/gu;

/** Words that can be a text's topic: four letters or more; in scripts without spaces, pairs of characters. */
export function contentWords(text: string): Set<string> {
  return wordsIn(normalForm(text));
}

function wordsIn(normal: string): Set<string> {
  const words = new Set<string>();
  for (const [run] of normal.matchAll(UNSPACED_RUN))
    for (let at = 0; at + 1 < run.length; at += 1) words.add(run.slice(at, at + 2));
  for (const word of normal.replaceAll(UNSPACED_RUN, " ").split(" ")) if (word.length > 3) words.add(word);
  return words;
}

/** The length of a text in words. A character of a script without spaces counts as half a word. */
export function wordCount(text: string): number {
  const normal = normalForm(text);
  let unspaced = 0;
  const spaced = normal.replaceAll(UNSPACED_RUN, (run) => {
    unspaced += [...run].length;
    return " ";
  });
  return spaced.split(" ").filter((word) => word !== "").length + unspaced / 2;
}

const QUESTION = /[?？؟]["'»”’)\]*_]*$/u;

export function isQuestion(sentence: string): boolean {
  return QUESTION.test(sentence.trim());
}

const NAME_CHAR = String.raw`[\w\u00c0-\u024f@~$#./-]`;
/** Tokens that can be specific. Skips plain words, because they are most of a text. */
const TOKEN = new RegExp(
  String.raw`(?<!${NAME_CHAR})(?=${NAME_CHAR}*?(?:\d|[./_][\w$@#]|[a-z][A-Z]))${NAME_CHAR}{4,}`,
  "g",
);
/** Longer tokens are not names: hashes of data, minified code, lines of dots. */
const MAX_TERM_CHARS = 160;
/** Names that every project has. */
const EVERYWHERE = new Set(["node_modules", "package.json", "console.log", "README.md", "i.e", "e.g"]);

/** The specific terms of a text: paths, dotted names, identifiers, hexadecimal and long decimal numbers. */
export function termsIn(text: string): Set<string> {
  const found = new Set<string>();
  for (const token of text.match(TOKEN) ?? []) {
    if (token.length > MAX_TERM_CHARS) continue;
    const term = token.replace(/^[./~-]+/, "").replace(/[./-]+$/, "");
    if (term.length > 3 && !found.has(term) && isSpecific(term) && !EVERYWHERE.has(term)) found.add(term);
  }
  return found;
}

function isSpecific(term: string): boolean {
  return /[\w$@#][./_]+[\w$@#]|[a-z][A-Z]|[A-Za-z]-?\d/.test(term) || isNumber(term);
}

export function isNumber(term: string): boolean {
  return /^#?(?:\d{3,}|\d+[/.]\d+|(?=.*\d)[0-9a-fA-F]{6,})$/.test(term);
}

/** True for a bare amount, time or line number. Unlike a version or an error code, it identifies nothing by itself. */
export function isMeasure(term: string): boolean {
  return MEASURES.some((measure) => measure.test(term));
}

const MEASURES: readonly RegExp[] = [
  // Numbers, fractions, times, ranges; `1.2.3` and addresses have more dots.
  /^\d+(?:[.,:/_-]\d+)?(?:[:_/-]\d+)*%?$/,
  // Dates, with a time or without.
  /^\d{4}-\d{2}-\d{2}(?:[T_ ][\d:.,]+(?:Z|[+-]\d{2}:?\d{2})?)?$/,
  // Durations and sizes.
  /^(?:\d+(?:[.,]\d+)?(?:[nuµm]?s|sec|m(?:in)?|[hdx]|k|[kKMGT]i?B|px|r?em|fps|Hz))+$/,
  // Line numbers and addresses in memory.
  /^L\d+(?:-L?\d+)?$/,
  /^0x[0-9a-fA-F]+$/,
];

/** The texts in the arguments of a call, down to `levels` levels (default: 4). */
export function textsIn(value: unknown, levels = 4): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || levels === 0) return [];
  return Object.values(value).flatMap((each) => textsIn(each, levels - 1));
}

/** Replaces omitted sentences. */
const LEFT_OUT = "…";

interface Statement {
  /** The index of its text. */
  of: number;
  /** True for the first statement of its text: it tends to name the topic. */
  isLead: boolean;
  text: string;
  tokens: number;
  /** Statements with the same form are equal. */
  form: string;
  /** Statements with the same shape count as repetitions. */
  shape: string;
  isSpecific: boolean;
  /** Words and terms. */
  subject: readonly string[];
  rank: number;
}

/** The budget and the ranking for one kind of statement. */
export interface ClipOptions {
  maxTokens: number;
  /** The tokens that a message needs besides its text. */
  tokensBeside: (at: number) => number;
  /** Rank bonus of the newest statement; the oldest gets 0. */
  recency: number;
  shapeOf: (sentence: string) => string;
  /** Extra rank for the sentences of a text. Default: 0. */
  worthOf?: (at: number) => number;
  /** The topic to prefer. Default: none. */
  focus?: string | undefined;
}

/**
 * Keeps the highest-ranked sentences that fit, in their order; undefined for a text without any. Specific, recent and
 * on-topic sentences rank high, repetitions low.
 *
 * Invariant: a statement is never dropped before an earlier one on the same subject.
 */
export function clippedTexts(texts: readonly string[], options: ClipOptions): (string | undefined)[] {
  const { maxTokens, tokensBeside } = options;
  const whole = texts.map((text, at) => estimateTokens(text) + tokensBeside(at));
  if (whole.reduce((sum, tokens) => sum + tokens, 0) <= maxTokens) return [...texts];
  const statements = rankedStatements(texts, options);
  const order = statements
    .map((_, at) => at)
    .sort((a, b) => statements[b]!.rank - statements[a]!.rank || b - a);
  const kept = new Set<Statement>();
  const messages = new Set<number>();
  let tokens = 0;
  for (const at of order) {
    const statement = statements[at]!;
    const size =
      statement.tokens + (messages.has(statement.of) ? 0 : tokensBeside(statement.of) + MARK_TOKENS);
    if (tokens + size > maxTokens) break;
    tokens += size;
    kept.add(statement);
    messages.add(statement.of);
  }
  const byText = Map.groupBy(statements, ({ of }) => of);
  return texts.map((text, of) => keptText(text, byText.get(of) ?? [], kept));
}

const MARK_TOKENS = 3;

function keptText(text: string, own: readonly Statement[], kept: ReadonlySet<Statement>): string | undefined {
  if (own.length === 0) return undefined;
  const tokens = own.reduce((sum, statement) => sum + statement.tokens, 0);
  // If a sentence was clipped, the whole text has more tokens than its sentences.
  if (own.every((statement) => kept.has(statement)) && estimateTokens(text) <= tokens) return text;
  const parts: string[] = [];
  for (const statement of own) {
    if (kept.has(statement)) parts.push(statement.text);
    else if (parts.at(-1) !== LEFT_OUT) parts.push(LEFT_OUT);
  }
  return parts.every((part) => part === LEFT_OUT) ? undefined : parts.join(" ");
}

/** A word in at most this many statements counts as their topic. */
const RARE = 3;
const WEIGHT = {
  specific: 2,
  information: 1.5,
  lead: 1.5,
  focus: 4,
  repeated: -20,
};

/** Ranks a statement at least as high as each earlier one on its subject: it may revoke that one. */
function rankedStatements(texts: readonly string[], options: ClipOptions): Statement[] {
  const { recency, worthOf, focus = "" } = options;
  const statements = statementsIn(texts, options);
  const last = new Map(statements.map(({ form }, at) => [form, at]));
  const uses = countEach(statements.flatMap(({ subject }) => subject));
  const focused = new Set([...contentWords(focus), ...termsIn(focus)]);
  const repeats = countEach(statements.map(({ shape }) => shape));
  const highest = new Map<string, number>();
  statements.forEach((statement, at) => {
    const { of, isLead, form, shape, isSpecific, subject } = statement;
    const rare = subject.filter((word) => uses.get(word)! <= RARE);
    const rank =
      (isSpecific ? WEIGHT.specific : 0) +
      WEIGHT.information * Math.min(1, rare.length / 3) +
      (last.get(form) === at ? 0 : WEIGHT.repeated) +
      (isLead ? WEIGHT.lead / repeats.get(shape)! : 0) +
      // A repeated shape carries little information.
      -Math.log2(repeats.get(shape)!) +
      (subject.some((word) => focused.has(word)) ? WEIGHT.focus : 0) +
      (worthOf?.(of) ?? 0) +
      (recency * at) / statements.length;
    statement.rank = Math.max(rank, ...rare.map((word) => highest.get(word) ?? rank));
    for (const word of rare) highest.set(word, statement.rank);
  });
  return statements;
}

function statementsIn(texts: readonly string[], { shapeOf }: ClipOptions): Statement[] {
  // A message can repeat one sentence hundreds of times.
  const read = new Map<string, ReturnType<typeof readSentence>>();
  return texts.flatMap((text, of) =>
    sentencesOf(text).map((sentence, at) => {
      const known = read.get(sentence) ?? readSentence(sentence, shapeOf);
      read.set(sentence, known);
      return { ...known, of, isLead: at === 0, rank: 0 };
    }),
  );
}

function readSentence(sentence: string, shapeOf: ClipOptions["shapeOf"]) {
  const text = unmarked(sentence);
  const form = normalForm(text);
  const terms = termsIn(text);
  return {
    text,
    tokens: estimateTokens(text) + 1,
    form,
    shape: shapeOf(text),
    isSpecific: terms.size > 0,
    subject: [...new Set([...wordsIn(form), ...terms])],
  };
}

/** Removes the marks of an earlier clipping from both ends. */
function unmarked(sentence: string): string {
  return sentence.replace(/^…\s+/, "").replace(/\s+…$/, "");
}

/** Counts each distinct value. */
export function countEach(values: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

/** Joins the text into one line of at most `chars` characters. Never cuts within a character. */
export function clippedLine(text: string, chars: number): string {
  const line = textHead(text, chars * 8).replace(/[\r\n]+\s*/g, " ");
  return shortened(line.trim(), chars);
}
