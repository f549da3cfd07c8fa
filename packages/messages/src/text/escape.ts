// Escapes Bonsai's own marks in texts of others, whatever their case, blanks and invisible characters.

/** Characters that begin a mark. */
const SPECIALS = "<[#*";

/** The text with a reference (`&lt;`) for each special character that begins a mark. Linear, as `wordAt` stops at the next one. */
export function escapeWhere(text: string, isMarkAt: (at: number) => boolean): string {
  return text.replaceAll(/[<[#*]/g, (character, at: number) =>
    isMarkAt(at) ? (character === "<" ? "&lt;" : `&#${character.charCodeAt(0)};`) : character,
  );
}

/** The references that `escapeWhere` writes, with their codes. */
export const REFERENCE = /&(?:lt|#(35|42|91));/g;

/** Words to find. */
export interface Words {
  spelt: ReadonlySet<string>;
  /** All beginnings of the words: reading ends as soon as none fits. */
  begun: ReadonlySet<string>;
}

/** The words of a table, for `wordAt`. */
export function wordsOf(texts: readonly string[]): Words {
  const spelt = new Set(texts.map((text) => [...text].map(folded).join("")));
  const begun = [...spelt].flatMap((word) => Array.from(word, (_, at) => word.slice(0, at + 1)));
  return { spelt, begun: new Set(begun) };
}

/** Returns the end of the word that the text spells from here. Ignores case, blanks, hyphens and invisible characters. */
export function wordAt(text: string, from: number, { spelt, begun }: Words): number | undefined {
  let word = "";
  let at = from;
  while (at < text.length) {
    const character = String.fromCodePoint(text.codePointAt(at)!);
    if (SPECIALS.includes(character)) break;
    const letter = folded(character);
    if (letter === "" && spelt.has(word) && !isInvisible(character)) break;
    if (letter !== "") {
      word += letter;
      if (!begun.has(word)) return undefined;
    }
    at += character.length;
  }
  return spelt.has(word) ? at : undefined;
}

/** Letters and digits in lower case; empty for all other characters. */
function folded(character: string): string {
  return /[\p{L}\p{N}]/u.test(character) && !isInvisible(character) ? character.toLowerCase() : "";
}

function isInvisible(character: string): boolean {
  return /^[\p{Default_Ignorable_Code_Point}\p{Cf}\p{M}]$/u.test(character);
}
