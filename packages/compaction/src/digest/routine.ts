import { fold } from "./fold.ts";

/** A line as its words, with paths, identifiers and numbers masked: what stays when only the names differ. */
function skeletonWords(text: string): string[] {
  const masked = fold(text)
    .replace(/`[^`]*`|[\w.@~:-]*\/[\w.@/:~-]+|\b[\w-]+\.[a-z]{1,5}\b|\b\w*\d\w*\b/g, " _ ")
    .replace(/[.,;:!?()[\]"“”。，、；：！？…–—]+/gu, " ");
  const words = masked.split(/\s+/).filter((word) => word !== "");
  return words.flatMap((word) => (WIDE.test(word) ? [...word] : [word]));
}

const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;
const GRAM = 3;
/** Where words are not separated, signs are counted. */
const WIDE_GRAM = 6;
/** In so many other messages a phrase came up, for it to be routine. */
const LEAST_MESSAGES = 3;
const ROUTINE_SHARE = 0.6;

/**
 * Knows what people say again and again with other names: of such lines none states a rule, and an old one says nothing
 * that a new one does not. A line is routine when most of its words stand in phrases of three words that recur.
 */
export class Routine {
  readonly #messages = new Map<string, Set<number>>();
  readonly #texts = new Map<string, number>();

  /** Notes what a message said. */
  hear(text: string, message: number): void {
    const words = skeletonWords(text);
    for (const gram of grams(words)) {
      const heard = this.#messages.get(gram);
      if (heard === undefined) this.#messages.set(gram, new Set([message]));
      else if (heard.size <= LEAST_MESSAGES) heard.add(message);
    }
    const whole = words.join(" ");
    this.#texts.set(whole, (this.#texts.get(whole) ?? 0) + 1);
  }

  isRoutine(text: string): boolean {
    const words = skeletonWords(text);
    if (words.length < 4) return (this.#texts.get(words.join(" ")) ?? 0) >= LEAST_MESSAGES;
    const covered = new Set<number>();
    const size = gramSize(words);
    grams(words).forEach((gram, at) => {
      if ((this.#messages.get(gram)?.size ?? 0) < LEAST_MESSAGES) return;
      for (let word = at; word < at + size; word++) covered.add(word);
    });
    return covered.size / words.length >= ROUTINE_SHARE;
  }
}

function grams(words: readonly string[]): string[] {
  const size = gramSize(words);
  const found: string[] = [];
  for (let at = 0; at + size <= words.length; at++) found.push(words.slice(at, at + size).join(" "));
  return found;
}

function gramSize(words: readonly string[]): number {
  return words.some((word) => WIDE.test(word)) ? WIDE_GRAM : GRAM;
}
