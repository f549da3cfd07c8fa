import { fold } from "./fold.ts";
import { type Language, lexicons } from "./lexicon/lexicons.ts";

const SAMPLE_CHARS = 600;
const LATIN: Language[] = ["en", "de", "fr", "es", "pt", "it"];
const stopwordSets = new Map<Language, Set<string>>();

/** The words of a language that say nothing about a sentence's subject. */
export function stopwords(language: Language): Set<string> {
  let set = stopwordSets.get(language);
  if (set === undefined) {
    const split = lexicons[language].unspaced === true ? "|" : " ";
    set = new Set(lexicons[language].stopwords.split(split).map(fold));
    stopwordSets.set(language, set);
  }
  return set;
}

/**
 * The language of a text by its script and, for Latin script, by its small words. `fallback` stands where nothing
 * tells: a language that is not known here reads as that one, and its sentences live by structure alone.
 */
export function languageOf(text: string, fallback: Language): Language {
  const sample = text.slice(0, SAMPLE_CHARS);
  const script = scriptLanguage(sample);
  if (script !== undefined) return script;
  const words = fold(sample).match(/[\p{L}']+/gu) ?? [];
  const counts = LATIN.map((language) => ({ language, count: smallWords(words, language) }));
  const [best] = counts.sort((a, b) => b.count - a.count);
  const usual = counts.find(({ language }) => language === fallback)?.count ?? 0;
  const isForeign = usual === 0 && /[^\p{ASCII}]/u.test(sample.replace(/[\p{P}\p{S}]/gu, ""));
  // Languages share small words; one alone changes nothing.
  return best !== undefined && (best.count >= 2 || isForeign) && best.count > usual
    ? best.language
    : latinOr(fallback);
}

/** Follows in which language people write: each message votes, short ones lean on those before. */
export class LanguageVotes {
  #current: Language = "en";
  readonly #votes = new Map<Language, number>();

  get current(): Language {
    return this.#current;
  }

  /** The language of a message, which becomes the one that later ones lean on. */
  hear(text: string): Language {
    const script = scriptLanguage(text.slice(0, SAMPLE_CHARS));
    if (script !== undefined) {
      this.#current = script;
      return script;
    }
    const words = fold(text.slice(0, SAMPLE_CHARS)).match(/[\p{L}']+/gu) ?? [];
    for (const language of LATIN)
      this.#votes.set(language, (this.#votes.get(language) ?? 0) + smallWords(words, language));
    const most = Math.max(...this.#votes.values());
    const leaders = LATIN.filter((language) => this.#votes.get(language) === most);
    if (!leaders.includes(this.#current)) this.#current = leaders[0] ?? "en";
    return languageOf(text, this.#current);
  }
}

function smallWords(words: readonly string[], language: Language): number {
  const known = stopwords(language);
  return words.filter((word) => known.has(word)).length;
}

/** Latin text amid another script is what programmers of all languages write: English. */
function latinOr(fallback: Language): Language {
  return LATIN.includes(fallback) ? fallback : "en";
}

function scriptLanguage(sample: string): Language | undefined {
  if (/^[\p{ASCII}]*$/u.test(sample)) return undefined;
  const kana = count(sample, /[\u3040-\u30ff]/g);
  const han = count(sample, /\p{Script=Han}/gu);
  const hangul = count(sample, /\p{Script=Hangul}/gu);
  if (hangul >= 2 && hangul >= han) return "ko";
  if (kana >= 2) return "ja";
  if (han >= 2) return "zh";
  const cyrillic = count(sample, /\p{Script=Cyrillic}/gu);
  return cyrillic * 3 > sample.length * 0.5 || cyrillic > 12 ? "ru" : undefined;
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}
