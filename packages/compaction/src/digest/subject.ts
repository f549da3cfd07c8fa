import { stopwords } from "./language.ts";
import type { Language } from "./lexicon/lexicons.ts";
import type { Value } from "./values.ts";

/**
 * What a folded sentence is about, as a set of stems: content words cut to six letters, so that inflections meet in any
 * language; pairs of characters where words are not separated. Values are no subject: they are what changes.
 */
export function subjectOf(folded: string, language: Language, values: readonly Value[]): Set<string> {
  let bare = folded;
  for (const value of values) {
    // A proper name can be what a sentence is about: "Node 18", "the Stripe account".
    if (value.type === "name") continue;
    const written = value.text.toLowerCase();
    if (written !== "") bare = bare.split(written).join(" ");
  }
  const small = stopwords(language);
  const stems = new Set<string>();
  for (const word of bare.match(/[\p{L}][\p{L}\p{M}']*/gu) ?? []) {
    if (/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u.test(word)) addPairs(stems, word, small);
    else if (/\p{Script=Hangul}/u.test(word)) stems.add(word.slice(0, 2));
    else if (word.length > 2 && !small.has(word) && !small.has(word.replace(/'s$/, "")))
      stems.add(stem(word));
  }
  return stems;
}

export function stem(word: string): string {
  return word
    .replace(/(?:'s|s')$/, "")
    .slice(0, 6)
    .replace(/(?<=.{3})(?:e?s|e|n)$/, "");
}

/** Kana pairs are mostly grammar, so a pair counts only with a Han or katakana sign in it. */
function addPairs(stems: Set<string>, word: string, small: Set<string>): void {
  for (let at = 0; at + 1 < word.length; at++) {
    const pair = word.slice(at, at + 2);
    if (/[\p{Script=Han}\p{Script=Katakana}]{2}/u.test(pair) && !small.has(pair)) stems.add(pair);
  }
}
