/** Plain forms of letters that Unicode cannot decompose. */
const PLAIN: Readonly<Record<string, string>> = {
  ...{ ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", ħ: "h", ı: "i", þ: "th", ð: "d", ŋ: "n" },
};
const UNPLAIN = new RegExp(`[${Object.keys(PLAIN).join("")}]`, "g");
const ASCII = /^[\0-\x7f]*$/;

/** The text in lower case and without accents: "Größe" equals "GROSSE". Keeps line breaks. */
export function foldedText(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  const bare = text.normalize("NFKD").replaceAll(/[\u0300-\u036f]/g, "");
  return bare
    .toLowerCase()
    .replaceAll(UNPLAIN, (letter) => PLAIN[letter]!)
    .normalize("NFC");
}

/** Scripts without spaces between words, Korean (words have many endings), and symbols. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Hangul}\p{So}ー々]+/gu;
const CAMEL_BORDER = /(\p{Ll})(\p{Lu})/u;
const CAMEL_BORDERS = new RegExp(CAMEL_BORDER, "gu");
const NAME = /[\p{L}\p{N}]+/gu;
const WORD = /[\p{L}\p{N}\p{So}]+/gu;

/**
 * The folded text for the index. Adds the parts after a camel-case name, and splits a run of an unspaced script into pairs
 * of characters. Keeps line breaks.
 */
export function searchText(text: string): string {
  const folded = foldedText(CAMEL_BORDER.test(text) ? text.replaceAll(NAME, withParts) : text);
  return ASCII.test(folded)
    ? folded
    : folded.replaceAll(UNSPACED, (run) => ` ${pairsOf([...run]).join(" ")} `);
}

function withParts(name: string): string {
  return CAMEL_BORDER.test(name) ? `${name} ${name.replaceAll(CAMEL_BORDERS, "$1 $2")}` : name;
}

/** Adds the last character alone, so that each character begins a word. */
function pairsOf(characters: readonly string[]): string[] {
  return characters.map((character, at) => character + (characters[at + 1] ?? ""));
}

/** True for one character of an unspaced script: it begins a word at any position. */
export function isLoneCharacter(word: string): boolean {
  return !ASCII.test(word) && [...word].length === 1 && word.replaceAll(UNSPACED, "") === "";
}

/** The words of a text from `searchText`. */
export function wordsIn(searched: string): string[] {
  return searched.match(WORD) ?? [];
}
