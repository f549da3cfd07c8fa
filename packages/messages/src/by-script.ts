import { estimatorOf, type TokenEstimator } from "./estimate.ts";
import { charCost, cost, freeChars, rareCost, Script, scriptOf, startCost } from "./script.ts";

/** A run of letters and digits is noise from this length on, if it changes kind at least every fourth character. */
const noiseChars = 16;
const noiseCharsPerChange = 4;

/** One pass over a text. Each method counts the run that begins at `#at` and moves behind it. */
class Scan {
  readonly #text: string;
  #at = 0;
  #tokens = 0;
  /** The script of the run before, as far as the next one cares. */
  #before = -1;
  /** Up to here it is known that no noise begins: without it, long paths would be looked at again and again. */
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
    switch (script) {
      case Script.lower:
      case Script.upper:
        if (!this.#noise()) this.#word();
        return;
      case Script.accented:
      case Script.accentedEast:
      case Script.accentedVietnamese:
        this.#word();
        return;
      case Script.digit:
        if (!this.#noise()) this.#digits();
        return;
      case Script.space:
      case Script.newline:
        this.#spaces();
        return;
      case Script.punctuation:
        this.#marks();
        return;
      case Script.symbol:
        this.#symbols();
        return;
      default:
        this.#foreignWord(plainScript(script));
    }
  }

  /** As tokenizers split camelCase: capitals, then small letters. */
  #word(): void {
    const start = this.#at;
    let at = start;
    let script = this.#script(at);
    while (script === Script.upper) script = this.#script(++at);
    const upper = at - start;
    while (isSmallLatin(script)) {
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
    for (let script = this.#script(at); isSpace(script); script = this.#script(at)) {
      at++;
      if (script === Script.newline) indent = at;
    }
    // A line end right after punctuation is part of that token.
    const free = this.#before === Script.punctuation && this.#script(this.#at) === Script.newline;
    if (indent > this.#at && !free) this.#tokens += cost.newline;
    const spaces = at - indent;
    if (spaces > 1 || (spaces === 1 && at === this.#text.length)) this.#tokens += cost.spaces;
    this.#end(at, spaces > 0 ? Script.space : Script.newline);
  }

  #marks(): void {
    const at = this.#endOf(Script.punctuation);
    const count = at - this.#at;
    if (count > 1) {
      const repeated = Math.min(this.#repeats(at), count - 2);
      this.#tokens += cost.marks + repeated * cost.repeatedMark;
      this.#tokens += (count - 2 - repeated) * cost.markBeyondSecond;
    } else {
      const joins = this.#before !== Script.space && isLetter(this.#script(at));
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
    if (this.#at < this.#soundUntil || isAlphanumeric(this.#before)) return false;
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
      if (!isAlphanumeric(script)) {
        if (!isBase64Mark(this.#text.charCodeAt(at))) break;
        changes++;
      } else if (last !== -1 && script !== last && !(last === Script.upper && script === Script.lower)) {
        changes++;
      }
      if (script === Script.digit) digits++;
      last = isAlphanumeric(script) ? script : -1;
    }
    this.#soundUntil = at;
    const length = at - this.#at;
    return length >= noiseChars && digits > 0 && changes * noiseCharsPerChange >= length ? at : undefined;
  }

  #endOf(script: number): number {
    let at = this.#at + 1;
    while (this.#script(at) === script) at++;
    return at;
  }

  /** How many code units of the run repeat the one before them. */
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

function isSmallLatin(script: number): boolean {
  return (
    script === Script.lower ||
    script === Script.accented ||
    script === Script.accentedEast ||
    script === Script.accentedVietnamese
  );
}

/** The script whose words a rare letter stands in. */
function plainScript(script: number): number {
  if (script === Script.cyrillicBeyondRussian) return Script.cyrillic;
  return script === Script.hanTraditional ? Script.han : script;
}

function isSpace(script: number): boolean {
  return script === Script.space || script === Script.newline;
}

function isAlphanumeric(script: number): boolean {
  return script === Script.lower || script === Script.upper || script === Script.digit;
}

/** Letters that a mark before them can share a token with. */
function isLetter(script: number): boolean {
  return (
    script === Script.lower ||
    script === Script.upper ||
    (script >= Script.accented && script <= Script.hangul) ||
    script === Script.greek ||
    script === Script.hebrew ||
    script >= Script.accentedEast
  );
}

/** `+`, `/`, `=` */
function isBase64Mark(code: number): boolean {
  return code === 0x2b || code === 0x2f || code === 0x3d;
}

/** Tokens by script and shape: words, numbers, punctuation, indentation, ideographs, noise. One linear pass. */
export function byScript(text: string): number {
  return new Scan(text).tokens();
}

export const byScriptEstimator: TokenEstimator = estimatorOf("byScript", byScript);
