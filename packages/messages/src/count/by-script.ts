import { estimatorOf, type TokenEstimator } from "./estimate.ts";

/** Kinds of UTF-16 code units that tokenizers treat differently. */
const Script = {
  other: 0,
  lower: 1,
  upper: 2,
  digit: 3,
  space: 4,
  newline: 5,
  punctuation: 6,
  /** Latin letters of western Europe beyond ASCII. */
  accented: 7,
  cyrillic: 8,
  arabic: 9,
  /** Devanagari and the scripts of India beside it, with their vowel signs. */
  indic: 10,
  /** Thai, Lao, Tibetan, Burmese: no spaces between words. */
  thai: 11,
  han: 12,
  kana: 13,
  hangul: 14,
  /** The full-width punctuation of China, Japan and Korea. */
  widePunctuation: 15,
  /** Half of a pair: an emoji or a rare sign. */
  surrogate: 16,
  greek: 17,
  hebrew: 18,
  /** Typographic marks, arrows, mathematical signs, box drawing. */
  symbol: 19,
  /** Latin letters of central and eastern Europe, Turkey, the Baltic: rarer in what tokenizers learned from. */
  accentedEast: 20,
  /** Vietnamese letters with their tones: one in nearly every short word, and learned together with it. */
  accentedVietnamese: 21,
  /** Letters that Russian does not have: a word with them is of a language that tokenizers know less well. */
  cyrillicBeyondRussian: 22,
  /** Signs of traditional Chinese that neither simplified Chinese nor Japanese writes. */
  hanTraditional: 23,
} as const;

const ranges: ReadonlyArray<readonly [first: number, last: number, script: number]> = [
  [0x00, 0x7f, Script.punctuation],
  [0x61, 0x7a, Script.lower],
  [0x41, 0x5a, Script.upper],
  [0x30, 0x39, Script.digit],
  [0x09, 0x09, Script.space],
  [0x20, 0x20, Script.space],
  [0x0a, 0x0a, Script.newline],
  [0x0d, 0x0d, Script.newline],
  [0x80, 0xbf, Script.symbol],
  [0xa0, 0xa0, Script.space],
  [0xc0, 0xff, Script.accented],
  [0x100, 0x24f, Script.accentedEast],
  [0x110, 0x111, Script.accentedVietnamese],
  [0x1a0, 0x1a1, Script.accentedVietnamese],
  [0x1af, 0x1b0, Script.accentedVietnamese],
  [0xd7, 0xd7, Script.symbol],
  [0xf7, 0xf7, Script.symbol],
  [0x370, 0x3ff, Script.greek],
  [0x400, 0x52f, Script.cyrillicBeyondRussian],
  [0x401, 0x401, Script.cyrillic],
  [0x410, 0x44f, Script.cyrillic],
  [0x451, 0x451, Script.cyrillic],
  [0x590, 0x5ff, Script.hebrew],
  [0x600, 0x77f, Script.arabic],
  [0x900, 0xdff, Script.indic],
  [0xe00, 0x10ff, Script.thai],
  [0x1100, 0x11ff, Script.hangul],
  [0x1e00, 0x1e9f, Script.accentedEast],
  [0x1ea0, 0x1eff, Script.accentedVietnamese],
  [0x1f00, 0x1fff, Script.greek],
  [0x2000, 0x2bff, Script.symbol],
  [0x3000, 0x303f, Script.widePunctuation],
  [0x3040, 0x30ff, Script.kana],
  [0x3130, 0x318f, Script.hangul],
  [0x31f0, 0x31ff, Script.kana],
  [0x3400, 0x9fff, Script.han],
  [0xac00, 0xd7af, Script.hangul],
  [0xd800, 0xdfff, Script.surrogate],
  [0xf900, 0xfaff, Script.han],
  [0xfb50, 0xfdff, Script.arabic],
  [0xfe70, 0xfeff, Script.arabic],
  [0xff00, 0xffef, Script.widePunctuation],
];

/** The frequent signs: every text has enough of them. */
const traditional =
  "們個這來說為會對學樣還點麼國發從當兩實經讓給臺灣關數變應將與萬處傳聽歡邊體總氣爾圖團單錢寫戰續覺觀讀號裡於嗎" +
  "歲賣鐵區畫參雙齊擇轉輕辦壓獨穩檔驗擊檢據擴徑媽爺聲醫隨雖雜靜顯黨龍豐滿濟燈營爭狀產盡禮稱絕絲繼聯舊舉蘇蟲衛裝覽" +
  "譯屬廠廣彈徵錄";

/** The script of each code unit. A table, because every character of a session is looked up. */
const scriptOf = new Uint8Array(0x10000);
for (const [first, last, script] of ranges) scriptOf.fill(script, first, last + 1);
for (const sign of traditional) scriptOf[sign.charCodeAt(0)] = Script.hanTraditional;

/**
 * Tokens per feature. Fitted by least squares to o200k on code in ten languages, manuals, logs, JSON,
 * noise, and technical prose in sixty human languages. The texts in test/fixtures took no part in the fit,
 * but they showed that running prose in scripts other than Latin is denser than technical prose, so that
 * those scripts lean a little to the high side.
 */
const cost = {
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

/** Scripts whose words cost a start, and more for each character beyond the first few. */
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
/** Tokens that a rare letter or sign adds to its word. */
const rareCosts: ReadonlyArray<readonly [script: number, perChar: number]> = [
  [Script.accented, 0.74],
  [Script.accentedEast, 1.35],
  [Script.accentedVietnamese, 0.2],
  [Script.cyrillicBeyondRussian, 0.8],
  [Script.hanTraditional, 1.3],
];
const scripts = Math.max(...Object.values(Script)) + 1;
/** By script: tokens for a word's beginning. */
const startCost = new Float64Array(scripts);
/** By script: characters that the beginning pays for. */
const freeChars = new Float64Array(scripts);
/** By script: tokens for each further character. */
const charCost = new Float64Array(scripts);
for (const [script, word, free, perChar] of wordCosts) {
  startCost[script] = word;
  freeChars[script] = free;
  charCost[script] = perChar;
}
/** By script: tokens on top for a letter that is rare in its word's script; 0 for all others. */
const rareCost = new Float64Array(scripts);
for (const [script, perChar] of rareCosts) rareCost[script] = perChar;

/** A table of scripts: 1 for each of these. */
function tableOf(...included: readonly number[]): Uint8Array {
  return Uint8Array.from({ length: scripts }, (_, script) => Number(included.includes(script)));
}

const smallLatin = tableOf(Script.lower, Script.accented, Script.accentedEast, Script.accentedVietnamese);
const spaces = tableOf(Script.space, Script.newline);
const alphanumerics = tableOf(Script.lower, Script.upper, Script.digit);
/** Scripts without letters. A mark before a letter can share its token. */
const letterless = tableOf(
  ...[Script.other, Script.digit, Script.space, Script.newline, Script.punctuation],
  ...[Script.widePunctuation, Script.surrogate, Script.symbol],
);

/** A run of letters and digits is noise from this length on, if it changes kind at least every fourth character. */
const MIN_NOISE_CHARS = 16;
const NOISE_CHARS_PER_CHANGE = 4;

/** One pass over a text. Each method counts the run at `#at` and moves after it. */
class Scan {
  readonly #text: string;
  #at = 0;
  #tokens = 0;
  /** The script of the previous run. */
  #before = -1;
  /** No noise begins before this place. Keeps the time linear for long paths. */
  #soundUntil = 0;

  constructor(text: string) {
    this.#text = text;
  }

  tokens(): number {
    while (this.#at < this.#text.length) this.#run(this.#script(this.#at));
    return Math.ceil(this.#tokens);
  }

  #script(at: number): number {
    return at < this.#text.length ? scriptOf[this.#text.charCodeAt(at)]! : -1;
  }

  #run(script: number): void {
    if (alphanumerics[script] === 1 && this.#noise()) return;
    if (script === Script.upper || smallLatin[script] === 1) this.#word();
    else if (script === Script.digit) this.#digits();
    else if (spaces[script] === 1) this.#spaces();
    else if (script === Script.punctuation) this.#marks();
    else if (script === Script.symbol) this.#symbols();
    else this.#foreignWord(plainScript(script));
  }

  /** As tokenizers split camelCase: capitals, then small letters. */
  #word(): void {
    const start = this.#at;
    let at = start;
    let script = this.#script(at);
    while (script === Script.upper) script = this.#script(++at);
    const upper = at - start;
    while (smallLatin[script] === 1) {
      this.#tokens += rareCost[script]!;
      script = this.#script(++at);
    }
    this.#tokens += wordTokens(at - start);
    if (upper > 1) this.#tokens += (upper - 1) * cost.upperCharBeyondFirst;
    if (this.#before === Script.digit) this.#tokens += cost.wordAfterDigit;
    this.#end(at, Script.lower);
  }

  #digits(): void {
    const at = this.#endOf(Script.digit);
    this.#tokens += Math.ceil((at - this.#at) / 3) * cost.threeDigits;
    if (this.#before === Script.space) this.#tokens += cost.spaceBeforeDigit;
    this.#end(at, Script.digit);
  }

  #spaces(): void {
    let at = this.#at;
    let indent = at;
    for (let script = this.#script(at); spaces[script] === 1; script = this.#script(at)) {
      at++;
      if (script === Script.newline) indent = at;
    }
    // A line end right after punctuation is part of that token.
    const free = this.#before === Script.punctuation && this.#script(this.#at) === Script.newline;
    if (indent > this.#at && !free) this.#tokens += cost.newline;
    const width = at - indent;
    if (width > 1 || (width === 1 && at === this.#text.length)) this.#tokens += cost.spaces;
    this.#end(at, width > 0 ? Script.space : Script.newline);
  }

  #marks(): void {
    const at = this.#endOf(Script.punctuation);
    const count = at - this.#at;
    if (count > 1) {
      const repeated = Math.min(this.#repeats(at), count - 2);
      this.#tokens += cost.marks + repeated * cost.repeatedMark;
      this.#tokens += (count - 2 - repeated) * cost.markBeyondSecond;
    } else {
      const joins = this.#before !== Script.space && letterless[this.#script(at)] === 0;
      this.#tokens += joins ? cost.markBeforeWord : cost.mark;
    }
    this.#end(at, Script.punctuation);
  }

  #symbols(): void {
    const at = this.#endOf(Script.symbol);
    const repeated = this.#repeats(at);
    this.#tokens += (at - this.#at - repeated) * cost.symbol + repeated * cost.repeatedSymbol;
    this.#end(at, Script.punctuation);
  }

  #foreignWord(script: number): void {
    let at = this.#at;
    for (let each = this.#script(at); plainScript(each) === script; each = this.#script(++at)) {
      this.#tokens += rareCost[each]!;
    }
    const beyond = Math.max(0, at - this.#at - freeChars[script]!);
    this.#tokens += startCost[script]! + beyond * charCost[script]!;
    this.#end(at, script);
  }

  /** Counts a run of base64, hexadecimal or the like, if one begins here. */
  #noise(): boolean {
    if (this.#at < this.#soundUntil || alphanumerics[this.#before] === 1) return false;
    const end = this.#endOfNoise();
    if (end === undefined) return false;
    this.#tokens += (end - this.#at) * cost.noiseChar;
    this.#end(end, Script.lower);
    return true;
  }

  #endOfNoise(): number | undefined {
    let at = this.#at;
    let changes = 0;
    let digits = 0;
    let last = -1;
    for (; at < this.#text.length; at++) {
      const script = this.#script(at);
      if (alphanumerics[script] !== 1) {
        if (!isBase64Mark(this.#text.charCodeAt(at))) break;
        changes++;
      } else if (last !== -1 && script !== last && !(last === Script.upper && script === Script.lower)) {
        changes++;
      }
      if (script === Script.digit) digits++;
      last = alphanumerics[script] === 1 ? script : -1;
    }
    this.#soundUntil = at;
    const length = at - this.#at;
    return length >= MIN_NOISE_CHARS && digits > 0 && changes * NOISE_CHARS_PER_CHANGE >= length
      ? at
      : undefined;
  }

  #endOf(script: number): number {
    let at = this.#at + 1;
    while (this.#script(at) === script) at++;
    return at;
  }

  /** Number of code units in the run that repeat the one before them. */
  #repeats(end: number): number {
    let repeats = 0;
    for (let at = this.#at + 1; at < end; at++) {
      if (this.#text.charCodeAt(at) === this.#text.charCodeAt(at - 1)) repeats++;
    }
    return repeats;
  }

  #end(at: number, script: number): void {
    this.#at = at;
    this.#before = script;
  }
}

function wordTokens(length: number): number {
  let tokens: number = cost.word;
  if (length > 7) tokens += (length - 7) * cost.wordCharBeyond7;
  if (length > 11) tokens += (length - 11) * cost.wordCharBeyond11;
  return tokens;
}

/** The script of the words that contain a rare letter. */
function plainScript(script: number): number {
  if (script === Script.cyrillicBeyondRussian) return Script.cyrillic;
  return script === Script.hanTraditional ? Script.han : script;
}

/** `+`, `/`, `=` */
function isBase64Mark(code: number): boolean {
  return code === 0x2b || code === 0x2f || code === 0x3d;
}

/** Tokens by script and shape: words, numbers, punctuation, indentation, ideographs, noise. One linear pass. */
export function estimateTokens(text: string): number {
  return new Scan(text).tokens();
}

export const tokenEstimator: TokenEstimator = estimatorOf("byScript", estimateTokens);
