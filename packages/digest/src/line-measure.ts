/** How much of a line is words of a person, whatever the language. */
export interface Measure {
  /** Characters that are no white space. */
  chars: number;
  /** Of these, the ones that belong to plain words or to a script without spaces. */
  wordChars: number;
  /** Tokens between spaces. */
  tokens: number;
  /** Tokens that are plain words; two letters of a script without spaces count as one. */
  plain: number;
}

/** Scripts that write without spaces: each letter there is part of a word. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}ー、。，「」：？！；]/gu;
/** Letters, with an apostrophe or a hyphen inside, and the punctuation of a sentence around. */
const plainWord =
  /^[("'“”„«‹‘¿¡*_]{0,3}[\p{L}\p{M}]+(?:(?:['’\-\u05f3\u05f4"]|\u200c|\u200d)[\p{L}\p{M}]+){0,4}[.,;:!?…)"'”“»›’*_،؛؟।॥״׳]{0,4}$/u;
const innerCapital = /\p{Ll}\p{Lu}/u;
const mostWordChars = 60;

export function measure(line: string): Measure {
  let chars = 0;
  let wordChars = 0;
  let plain = 0;
  let tokens = 0;
  for (const token of line.match(/\S+/g) ?? []) {
    chars += token.length;
    tokens += 1;
    const without = isAscii(token) ? 0 : (token.match(unspaced)?.length ?? 0);
    if (without > 0) {
      wordChars += without;
      plain += without / 2;
      tokens += without / 2 - 0.5;
    } else if (isPlainWord(token)) {
      wordChars += token.length;
      plain += 1;
    }
  }
  return { chars, wordChars, tokens, plain };
}

function isAscii(token: string): boolean {
  return /^[\0-\x7f]*$/.test(token);
}

function isPlainWord(token: string): boolean {
  return token.length <= mostWordChars && plainWord.test(token) && !innerCapital.test(token);
}

/** A sentence or a part of one: three words, and most of it words. */
export function isSentence({ chars, wordChars, tokens, plain }: Measure): boolean {
  return plain >= 3 && (plain >= 0.6 * tokens || wordChars >= 0.6 * chars);
}

/** Neither by its tokens nor by its characters mostly words. */
export function isWordless({ chars, wordChars, tokens, plain }: Measure): boolean {
  return plain < 0.5 * tokens && wordChars < 0.5 * chars;
}
