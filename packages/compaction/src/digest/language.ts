import { fold } from "./fold.ts";
import { lexicons } from "./lexicon/lexicons.ts";

export type Language = "en" | "de" | "fr" | "es" | "pt" | "it" | "ru" | "zh" | "ja" | "ko";

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
  const sample = text.slice(0, 600);
  const script = scriptLanguage(sample);
  if (script !== undefined) return script;
  const words = fold(sample).match(/[\p{L}']+/gu) ?? [];
  let best = fallback;
  let bestCount = 0;
  for (const language of LATIN) {
    const known = stopwords(language);
    const count = words.filter((word) => known.has(word)).length + (language === fallback ? 0.5 : 0);
    if (count > bestCount) {
      best = language;
      bestCount = count;
    }
  }
  return best;
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
