import type { AssistantMessage, Message } from "../message.ts";
import { contentBlocks } from "../text/text.ts";
import { inputTokens, isPlausibleCount } from "../usage.ts";
import { estimatorOf, IMAGE_TOKENS, isGoodAnswer, type TokenEstimator, UNSEEN_TOKENS } from "./estimate.ts";
import { charCost, cost, freeChars, rareCost, Script, scriptOf, startCost } from "./script.ts";

/** A run of letters and digits is noise from this length on, if it changes kind at least every fourth character. */
const noiseChars = 16;
const noiseCharsPerChange = 4;

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

/** The script of the words that contain a rare letter. */
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
export function estimateTokens(text: string): number {
  return new Scan(text).tokens();
}

export const tokenEstimator: TokenEstimator = estimatorOf("byScript", estimateTokens);

/** A correction of an estimator, learned from a session's usage. */
export interface Calibration {
  /** Reported tokens per estimated token, 0.5 to 2.5; 1 without enough evidence. */
  readonly ratio: number;
  /** Tokens of system prompt and tools. 0 if unknown. */
  readonly overheadTokens: number;
  /** Number of answers used. */
  readonly samples: number;
}

interface CalibrateOptions {
  /** The context, oldest first. Calibrate before a compaction, which removes the usage. */
  messages: readonly Message[];
  /** The estimator to correct. Default: by script. */
  base?: TokenEstimator;
  /** True for the index of an answer to another context. Default: none is. */
  isStale?: (index: number) => boolean;
  /** An earlier calibration, whose ratio counts without enough evidence. Default: a ratio of 1. */
  prior?: Calibration | undefined;
}

/** Estimated and reported tokens of one request. */
interface Sample {
  estimated: number;
  reported: number;
}

const minRatio = 0.5;
const maxRatio = 2.5;
/** Below this many answers or estimated tokens between the first and the last, noise decides. */
const minSamples = 4;
const minSpanTokens = 3000;
/**
 * A slope covers this part of the span: long enough that no odd message dominates, short enough that a context that shrank
 * unseen affects few slopes.
 */
const slopesPerSpan = 6;

/**
 * Learns the ratio from the growth between requests, because their size includes system prompt and tools. Uses only answers
 * of the latest model, as each model has its own tokens.
 */
export function calibrate(options: CalibrateOptions): Calibration {
  const { messages, base = tokenEstimator, isStale = () => false, prior } = options;
  const samples = samplesOf(messages, base, isStale);
  // The overhead absorbs the error of the ratio.
  const ratio = ratioOf(samples) ?? prior?.ratio ?? 1;
  const overhead = median(samples.map(({ estimated, reported }) => reported - ratio * estimated)) ?? 0;
  return { ratio, overheadTokens: Math.max(0, Math.round(overhead)), samples: samples.length };
}

function samplesOf(
  messages: readonly Message[],
  base: TokenEstimator,
  isStale: (index: number) => boolean,
): Sample[] {
  const model = modelOf(messages.findLast(isGoodAnswer));
  const samples: Sample[] = [];
  let estimated = 0;
  let images = 0;
  for (const [index, message] of messages.entries()) {
    if (isGoodAnswer(message) && !isStale(index) && modelOf(message) === model) {
      const reported = inputTokens(message.usage) - images;
      if (reported > 0 && isPlausibleCount(reported, estimated, UNSEEN_TOKENS))
        samples.push({ estimated, reported });
    }
    const imageTokens = imageTokensOf(message);
    images += imageTokens;
    estimated += base.message(message) - imageTokens;
  }
  return samples;
}

function modelOf(answer: AssistantMessage | undefined): string {
  return `${answer?.provider}/${answer?.model}`;
}

function imageTokensOf(message: Message): number {
  const content = message !== null && typeof message === "object" && "content" in message && message.content;
  return contentBlocks(content).filter((block) => block.type === "image").length * IMAGE_TOKENS;
}

/** Undefined where there is too little evidence. */
function ratioOf(samples: readonly Sample[]): number | undefined {
  const span = (samples.at(-1)?.estimated ?? 0) - (samples[0]?.estimated ?? 0);
  if (samples.length < minSamples || span < minSpanTokens) return undefined;
  const slope = weightedMedian(slopesOf(samples, span / slopesPerSpan));
  if (slope === undefined) return undefined;
  return Math.min(maxRatio, Math.max(minRatio, slope));
}

interface Weighted {
  value: number;
  weight: number;
}

/**
 * The growth from each sample to the first one at least `step` later, weighted by the tokens that the sample added. Without
 * weights, many short messages would outvote the few long ones.
 */
function slopesOf(samples: readonly Sample[], step: number): Weighted[] {
  const slopes: Weighted[] = [];
  let to = 0;
  for (const [index, from] of samples.entries()) {
    while (to < samples.length && samples[to]!.estimated - from.estimated < step) to++;
    const next = samples[to];
    if (next === undefined) break;
    const value = (next.reported - from.reported) / (next.estimated - from.estimated);
    slopes.push({ value, weight: samples[index + 1]!.estimated - from.estimated });
  }
  return slopes;
}

function median(values: readonly number[]): number | undefined {
  return weightedMedian(values.map((value) => ({ value, weight: 1 })));
}

/** The smallest value with at least half of the weight at or below it. */
function weightedMedian(values: readonly Weighted[]): number | undefined {
  const sorted = values.toSorted((a, b) => a.value - b.value);
  const half = sorted.reduce((sum, { weight }) => sum + weight, 0) / 2;
  let sum = 0;
  for (const { value, weight } of sorted) {
    sum += weight;
    if (sum >= half) return value;
  }
  return undefined;
}
