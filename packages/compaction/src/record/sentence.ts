import { textHead } from "@bonsai-agent/messages";
import { textTail } from "@bonsai-agent/messages/host";

const MAX_SENTENCE_CHARS = 600;

/** The sentences of a text, line by line; a list item is one or more of its own. Each ends as it was written. */
export function sentencesOf(text: string): string[] {
  return text
    .split("\n")
    .flatMap((line) => line.split(SENTENCE_END))
    .map((sentence) => sentence.trim())
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence))
    .map(clipSentence);
}

/** No end is the point of an ordinal: "a 3. fejezet" goes on in lower case. */
const SENTENCE_END =
  /(?<=[.!?…][)"'»”’\]]?)(?<!(?:^|\s)\p{N}{1,3}\.(?=\s+\p{Ll}))\s+(?=\S)|(?<=[。！？｡।؟])(?=\S)/u;

/** Head and tail of what is too long to be a sentence. */
function clipSentence(sentence: string): string {
  if (sentence.length <= MAX_SENTENCE_CHARS) return sentence;
  const head = textHead(sentence, MAX_SENTENCE_CHARS / 2);
  return `${head} […] ${textTail(sentence, MAX_SENTENCE_CHARS / 3)}`;
}

/** The text in lower case, with single spaces and without punctuation: what makes two messages the same. */
export function normalForm(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}]+/gu, " ")
    .trim();
}

/** The normal form with a mark for each number, path, identifier and quotation: what routine requests have in common. */
export function routineShape(sentence: string): string {
  let shape = sentence.replaceAll(/"[^"]*"|`[^`]*`|“[^”]*”|«[^»]*»|「[^」]*」/gu, "#");
  for (const term of termsIn(shape)) shape = shape.replaceAll(term, "#");
  return shape
    .toLowerCase()
    .replaceAll(/[\p{N}]+/gu, "#")
    .replaceAll(/[^\p{L}\p{M}#]+/gu, " ")
    .trim();
}

/** The normal form with a mark for each number: what reports on the same thing have in common. */
export function reportShape(sentence: string): string {
  return normalForm(sentence).replaceAll(/\p{N}+/gu, "#");
}

const UNSPACED_RUN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]+/gu;

/** The words that a text can be about: those of four letters and more; of scripts without spaces, pairs of characters. */
export function contentWords(text: string): Set<string> {
  const normal = normalForm(text);
  const words = new Set<string>();
  for (const [run] of normal.matchAll(UNSPACED_RUN))
    for (let at = 0; at + 1 < run.length; at += 1) words.add(run.slice(at, at + 2));
  for (const word of normal.replaceAll(UNSPACED_RUN, " ").split(" ")) if (word.length > 3) words.add(word);
  return words;
}

/** How much a text has to say, in words; a character of a script without spaces counts for half of one. */
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

const TOKEN = /[\w\u00c0-\u024f@~$#./-]+/g;
/** Longer ones are no names: hashes of data, minified code, lines of dots. */
const LONGEST_TERM_CHARS = 160;
/** Most of a text: what needs no closer look. */
const PLAIN_WORD = /^[A-Za-z]?[a-z]+[.-]?$/;
/** Names that every project has. */
const EVERYWHERE = new Set(["node_modules", "package.json", "console.log", "README.md", "i.e", "e.g"]);

/** The specific terms of a text: paths, dotted names, identifiers, hexadecimal and long decimal numbers. */
export function termsIn(text: string): Set<string> {
  const found = new Set<string>();
  for (const token of new Set(text.match(TOKEN))) {
    if (token.length < 4 || token.length > LONGEST_TERM_CHARS || PLAIN_WORD.test(token)) continue;
    const term = token.replace(/^[./~-]+/, "").replace(/[./-]+$/, "");
    if (term.length > 3 && isSpecific(term) && !EVERYWHERE.has(term)) found.add(term);
  }
  return found;
}

function isSpecific(term: string): boolean {
  return (
    /[\w$@#][./_]+[\w$@#]/.test(term) ||
    /[a-z][A-Z]/.test(term) ||
    /[A-Za-z]-?\d/.test(term) ||
    isNumber(term)
  );
}

export function isNumber(term: string): boolean {
  return /^#?(?:\d{3,}|\d+[/.]\d+|(?=.*\d)[0-9a-fA-F]{6,})$/.test(term);
}

/** True for a bare amount, time or line number: it identifies nothing by itself, as a version or an error code does. */
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

/** The texts in the arguments of a call, at whatever depth. */
export function textsIn(value: unknown, levels = 4): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || levels === 0) return [];
  return Object.values(value).flatMap((each) => textsIn(each, levels - 1));
}
