// Finds words in texts of others however they are spelt, so that nothing passes for a mark of ours.

/** Brackets that read like `<` and `[`, and what begins a heading or bold text. */
export const OPENERS = "<＜﹤‹˂ᐸ⟨〈〈❮«《";
export const SQUARES = "[［【〔⟦❲〖﹝〘〚";
const LEADS = "#＃﹟*＊﹡∗";
export const SPECIALS = OPENERS + SQUARES + LEADS;
const SPECIAL = new RegExp(`[${SPECIALS.replace("[", "\\[")}]`, "g");

/**
 * The text with a reference (`&lt;`) in place of each special character that begins a mark. Every place is read up to
 * the next special character at most, so the whole is linear.
 */
export function referenced(text: string, isMarkAt: (at: number) => boolean): string {
  return text.replaceAll(SPECIAL, (character, at: number) =>
    isMarkAt(at) ? (character === "<" ? "&lt;" : `&#${character.codePointAt(0)};`) : character,
  );
}

/** Names to look for, as they are compared. */
export interface Words {
  spelt: ReadonlySet<string>;
  /** What each of them can begin with: reading ends as soon as none does. */
  begun: ReadonlySet<string>;
}

/** The names of a table, to be looked for by `wordAt`. */
export function wordsOf(texts: readonly string[]): Words {
  const spelt = new Set(texts.map((text) => [...text].map(folded).join("")));
  const begun = [...spelt].flatMap((word) => Array.from(word, (_, at) => word.slice(0, at + 1)));
  return { spelt, begun: new Set(begun) };
}

/**
 * Where one of the words ends that the text spells from here: case, invisible characters, blanks, hyphens and letters
 * that look alike make no difference. It stops at the next special character.
 */
export function wordAt(text: string, from: number, { spelt, begun }: Words): number | undefined {
  let word = "";
  let at = from;
  while (at < text.length) {
    const character = String.fromCodePoint(text.codePointAt(at)!);
    if (SPECIALS.includes(character)) break;
    const letters = folded(character);
    if (letters === "" && spelt.has(word) && !isInvisible(character)) break;
    if (letters !== "") {
      word += letters;
      if (!begun.has(word)) return undefined;
    }
    at += character.length;
  }
  return spelt.has(word) ? at : undefined;
}

/** Letters that look like those of our marks. */
const LOOKALIKES: Readonly<Record<string, string>> = Object.fromEntries(
  [..."аaсcԁdеeհhіiјjоoрpѕsυuуyхxαaεeιiκkοoρpτtνvɡgнhтtкkмmıiոn"].flatMap((letter, at, all) =>
    at % 2 === 0 ? [[letter, all[at + 1]!]] : [],
  ),
);

/** What a character counts for: letters and digits without accents and width in lower case, and nothing for all else. */
function folded(character: string): string {
  if (character < "\x7f") return /[a-z0-9]/i.test(character) ? character.toLowerCase() : "";
  if (isInvisible(character)) return "";
  const plain = character
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, "");
  return [...plain].map((letter) => LOOKALIKES[letter] ?? letter).join("");
}

function isInvisible(character: string): boolean {
  return /^[\p{Default_Ignorable_Code_Point}\p{Cf}\p{M}]$/u.test(character);
}
