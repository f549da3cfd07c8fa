import { shortened, textHead } from "@bonsai-agent/messages";
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

const UNSPACED_RUN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}ー]+/gu;

/** Most texts have no character beyond Latin letters and their marks. */
const BEYOND_LATIN = /[\u0300-\uffff]/;

/** The pairs of characters in the scripts without spaces, and the text without these scripts. */
export function unspacedPairs(text: string): { pairs: string[]; spaced: string } {
  if (!BEYOND_LATIN.test(text)) return { pairs: [], spaced: text };
  const pairs = Array.from(text.matchAll(UNSPACED_RUN)).flatMap(([run]) =>
    Array.from({ length: run.length - 1 }, (_, at) => run.slice(at, at + 2)),
  );
  return { pairs, spaced: text.replaceAll(UNSPACED_RUN, " ") };
}

/** Words that can be a text's topic: four letters or more; in scripts without spaces, pairs of characters. */
export function contentWords(text: string): Set<string> {
  return wordsOfForm(normalForm(text));
}

/** The content words of a text by its normal form. */
export function wordsOfForm(form: string): Set<string> {
  const { pairs, spaced } = unspacedPairs(form);
  return new Set([...pairs, ...spaced.split(" ").filter((word) => word.length > 3)]);
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
    const term = tokenTerms.get(token) ?? termOf(token);
    if (term !== "") found.add(term);
  }
  return found;
}

/** The term of each token, because most tokens of a session are repeated. */
const tokenTerms = new Map<string, string>();
const MAX_TOKENS = 50_000;

/** The specific term in a token; empty for none. */
function termOf(token: string): string {
  const name = token.replace(/^[./~-]+/, "").replace(/[./-]+$/, "");
  const term = name.length > 3 && isSpecific(name) && !EVERYWHERE.has(name) ? name : "";
  if (tokenTerms.size >= MAX_TOKENS) tokenTerms.clear();
  tokenTerms.set(token, term);
  return term;
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
