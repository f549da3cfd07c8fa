import { termsIn } from "./terms.ts";

const LONGEST_CHARS = 600;

/** The sentences of a text, line by line; a list item is one or more of its own. Each ends as it was written. */
export function sentencesOf(text: string): string[] {
  return text
    .split("\n")
    .flatMap((line) => line.split(/(?<=[.!?…][)"'»”’\]]?)\s+(?=\S)|(?<=[。！？｡।؟])(?=\S)/u))
    .map((sentence) => sentence.trim())
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence))
    .map(clipSentence);
}

/** Head and tail of what is too long to be a sentence. */
function clipSentence(sentence: string): string {
  if (sentence.length <= LONGEST_CHARS) return sentence;
  const characters = [...sentence.slice(0, LONGEST_CHARS / 2)];
  const tail = [...sentence.slice(-LONGEST_CHARS / 3)].slice(1);
  return `${characters.slice(0, -1).join("")} […] ${tail.join("")}`;
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
