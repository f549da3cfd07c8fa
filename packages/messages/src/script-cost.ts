import { Script } from "./script.ts";

/**
 * Tokens per feature. Fitted by least squares to o200k on code in ten languages, manuals, logs, JSON,
 * noise, and technical prose in fifty human languages; running prose in scripts other than Latin is
 * denser than technical prose, so that those lean a little to the high side. The texts in test/fixtures
 * took no part in it.
 */
export const cost = {
  word: 0.84,
  wordCharBeyond3: 0.08,
  wordCharBeyond7: 0.15,
  wordCharBeyond11: 0.33,
  accentedChar: 0.91,
  upperCharBeyondFirst: 0.07,
  wordAfterDigit: 0.36,
  threeDigits: 0.93,
  /** A space goes with the word after it, but not with a number. */
  spaceBeforeDigit: 1.2,
  spaces: 0.95,
  newline: 1.2,
  /** `.name`, `(name`: often one token with what follows. */
  markBeforeWord: 0.44,
  mark: 1.15,
  marks: 1.05,
  markBeyondSecond: 0.11,
  repeatedMark: 0.02,
  symbol: 1.4,
  repeatedSymbol: 0.02,
  widePunctuation: 0.7,
  surrogate: 1.5,
  other: 0.65,
  /** Per character of base64, hashes, ids. */
  noiseChar: 0.65,
} as const;

/** Scripts whose words cost a start and so much for each character beyond the first few. */
const wordCosts: ReadonlyArray<readonly [script: number, word: number, free: number, perChar: number]> = [
  [Script.cyrillic, 1.3, 4, 0.18],
  [Script.arabic, 1.03, 3, 0.33],
  [Script.indic, 0.86, 3, 0.52],
  [Script.thai, 0, 0, 0.41],
  [Script.han, 0.3, 0, 0.74],
  [Script.kana, 0, 0, 0.7],
  [Script.hangul, 0.88, 1, 0.7],
  [Script.greek, 0.5, 2, 0.46],
  [Script.hebrew, 1.38, 2, 0.21],
  [Script.widePunctuation, 0, 0, cost.widePunctuation],
  [Script.surrogate, 0, 0, cost.surrogate],
  [Script.other, 0, 0, cost.other],
];
const scripts = Math.max(...Object.values(Script)) + 1;
/** By script: tokens for a word's beginning. */
export const startCost = new Float64Array(scripts);
/** By script: characters that the beginning pays for. */
export const freeChars = new Float64Array(scripts);
/** By script: tokens for each further character. */
export const charCost = new Float64Array(scripts);
for (const [script, word, free, perChar] of wordCosts) {
  startCost[script] = word;
  freeChars[script] = free;
  charCost[script] = perChar;
}
