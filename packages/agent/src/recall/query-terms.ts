/** One thing that a query asks for, in the ways in which it may be written; folded, see `foldedText`. */
export interface QueryTerm {
  variants: ReadonlyArray<{ text: string; weight: number }>;
}

/** More a query cannot be about. */
const MAX_TERMS = 60;
const MAX_CHARS = 4_000;
/** Scripts that write no spaces between words, and Korean, whose words have many endings. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Hangul}ー々]+/gu;
/** Paths, identifiers, values and plain words, without the punctuation around them. */
const WORD = /[\p{L}\p{N}_$#@~/\\.:+-]*[\p{L}\p{N}_$]/gu;
/** A position in a file. */
const POSITION = /(?::\d+)+$/;
/** A path's folders, an object and its method. */
const BETWEEN_NAMES = /[./\\:#@+]+/;
/** Words of one letter say nothing; two may be a name. */
const MIN_CHARS = 2;
const MIN_PART_CHARS = 3;

/** Weights of a term, of its stem and of its parts. */
const WEIGHT = { quoted: 1.5, specific: 1.5, last: 0.8, word: 1, stem: 0.8, part: 0.5, pair: 0.5 };

/**
 * The terms of a query in plain words: what is quoted, as it stands; paths and identifiers, whole and in parts; words,
 * with and without their ending; of scripts without spaces, pairs of characters. The most specific first.
 */
export function queryTerms(query: string): QueryTerm[] {
  const terms = new Map<string, QueryTerm>();
  const add = (...variants: QueryTerm["variants"][number][]) => {
    const [first] = variants;
    if (first !== undefined && !terms.has(first.text)) terms.set(first.text, { variants });
  };
  const rest = query
    .slice(0, MAX_CHARS)
    .normalize("NFC")
    .replaceAll(/"([^"\n]+)"/g, (_, quoted: string) => {
      add({ text: foldedText(quoted.trim()), weight: WEIGHT.quoted });
      return ` ${quoted} `;
    });
  const words = (rest.replaceAll(UNSPACED, " ").match(WORD) ?? []).map((word) => word.replace(POSITION, ""));
  const specific = words.filter(isSpecific);
  for (const word of specific) add(...writings(word));
  for (const word of words) if (!isSpecific(word)) add(...inflections(word));
  for (const [run] of rest.matchAll(UNSPACED)) for (const pair of pairsOf(run)) add(pair);
  for (const word of specific) {
    const names = word.split(BETWEEN_NAMES);
    for (const name of names)
      if (name !== word && isSpecific(name)) add({ text: foldedText(name), weight: WEIGHT.word });
    for (const part of names.flatMap(partsOf)) add({ text: part, weight: WEIGHT.part });
  }
  return [...terms.values()]
    .filter(
      ({ variants }) => variants[0]!.text.length >= MIN_CHARS || !/^[\0-\x7f]*$/.test(variants[0]!.text),
    )
    .slice(0, MAX_TERMS);
}

/** In lower case, each character in its place. */
export function foldedText(text: string): string {
  const lower = text.toLowerCase();
  if (lower.length === text.length) return lower;
  return Array.from({ length: text.length }, (_, at) => {
    const character = text[at]!.toLowerCase();
    return character.length === 1 ? character : text[at]!;
  }).join("");
}

/** A path, an identifier of several words, a value: what hardly says two things. */
export function isSpecific(word: string): boolean {
  return /\p{N}|[\p{L}\p{N}][_./\\:@-][\p{L}\p{N}]|\p{Ll}\p{Lu}|^[#@$]/u.test(word);
}

/** A path may be named from another folder on, or by its last part alone. */
function writings(word: string): QueryTerm["variants"][number][] {
  const whole = foldedText(word.replace(/^[./~\\]+(?=.)/, ""));
  const last = whole.split(/[/\\]/).at(-1)!;
  const variants = [{ text: whole, weight: WEIGHT.specific }];
  if (last !== whole && last.length >= MIN_PART_CHARS) variants.push({ text: last, weight: WEIGHT.last });
  return variants;
}

/** A word of so many letters may stand there with another ending. */
const MIN_INFLECTED_CHARS = 5;

function inflections(word: string): QueryTerm["variants"][number][] {
  const bare = foldedText(word.replaceAll(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, ""));
  const variants = [{ text: bare, weight: WEIGHT.word }];
  if (bare.length >= MIN_INFLECTED_CHARS) {
    const kept = Math.max(4, Math.ceil(bare.length * 0.7));
    if (kept < bare.length) variants.push({ text: bare.slice(0, kept), weight: WEIGHT.stem });
  }
  return variants;
}

function pairsOf(run: string): QueryTerm["variants"][number][] {
  const characters = [...foldedText(run)];
  if (characters.length < 3) return [{ text: characters.join(""), weight: WEIGHT.word }];
  return characters
    .slice(1)
    .map((character, at) => ({ text: characters[at]! + character, weight: WEIGHT.pair }));
}

function partsOf(word: string): string[] {
  return word
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
    .split(/[^\p{L}\p{N}]+/u)
    .map(foldedText)
    .filter((part) => part.length >= MIN_PART_CHARS);
}
