import { Script } from "./script.ts";

/**
 * Tokens per feature. Fitted by least squares to o200k on code in ten languages, manuals, logs, JSON,
 * noise, and technical prose in sixty human languages. The texts in test/fixtures took no part in the fit,
 * but they showed that running prose in scripts other than Latin is denser than technical prose, so that
 * those scripts lean a little to the high side.
 */
export const cost = {
  word: 0.95,
  wordCharBeyond7: 0.26,
  wordCharBeyond11: 0.24,
  upperCharBeyondFirst: 0.06,
  wordAfterDigit: 0.24,
  threeDigits: 0.93,
  /** A space goes with the word after it, but not with a number. */
  spaceBeforeDigit: 1.15,
  spaces: 1,
  newline: 1.2,
  /** `.name`, `(name`: often one token with what follows. */
  markBeforeWord: 0.44,
  mark: 1.15,
  marks: 1,
  markBeyondSecond: 0.16,
  repeatedMark: 0.02,
  symbol: 1.3,
  repeatedSymbol: 0.02,
  widePunctuation: 0.83,
  surrogate: 1.5,
  other: 0.65,
  /** Per character of base64, hashes, ids. */
  noiseChar: 0.65,
} as const;

/** Scripts whose words cost a start and so much for each character beyond the first few. */
const wordCosts: ReadonlyArray<readonly [script: number, word: number, free: number, perChar: number]> = [
  [Script.cyrillic, 1.3, 4, 0.19],
  [Script.arabic, 1.03, 3, 0.33],
  [Script.indic, 0.86, 3, 0.52],
  [Script.thai, 0, 0, 0.41],
  [Script.han, 0.3, 0, 0.72],
  [Script.kana, 0, 0, 0.7],
  [Script.hangul, 0.88, 1, 0.7],
  [Script.greek, 0.5, 2, 0.5],
  [Script.hebrew, 1.23, 2, 0.28],
  [Script.widePunctuation, 0, 0, cost.widePunctuation],
  [Script.surrogate, 0, 0, cost.surrogate],
  [Script.other, 0, 0, cost.other],
];
/** What a letter or sign of these costs on top of the word that it stands in. */
const rareCosts: ReadonlyArray<readonly [script: number, perChar: number]> = [
  [Script.accented, 0.74],
  [Script.accentedEast, 1.35],
  [Script.accentedVietnamese, 0.2],
  [Script.cyrillicBeyondRussian, 0.8],
  [Script.hanTraditional, 1.3],
];
const scripts = Math.max(...Object.values(Script)) + 1;
/** By script: tokens for a word's beginning. */
export const startCost: Float64Array = new Float64Array(scripts);
/** By script: characters that the beginning pays for. */
export const freeChars: Float64Array = new Float64Array(scripts);
/** By script: tokens for each further character. */
export const charCost: Float64Array = new Float64Array(scripts);
for (const [script, word, free, perChar] of wordCosts) {
  startCost[script] = word;
  freeChars[script] = free;
  charCost[script] = perChar;
}
/** By script: tokens on top for a letter that is rare in its word's script; 0 for all others. */
export const rareCost: Float64Array = new Float64Array(scripts);
for (const [script, perChar] of rareCosts) rareCost[script] = perChar;
