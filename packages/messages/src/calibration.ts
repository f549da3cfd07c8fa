import { byScriptEstimator } from "./by-script.ts";
import { estimatorOf, IMAGE_TOKENS, isGoodAnswer, type TokenEstimator, UNSEEN_TOKENS } from "./estimate.ts";
import type { AssistantMessage, Message } from "./message.ts";
import { contentBlocks } from "./text.ts";
import { isPlausibleCount, promptTokens } from "./usage.ts";

/** What a session's own usage says about an estimator. */
export interface Calibration {
  /** Reported tokens per estimated token, 0.5 to 2.5; 1 without enough evidence. */
  readonly ratio: number;
  /** What every request holds beside the messages: system prompt and tools. 0 where unknown. */
  readonly overheadTokens: number;
  /** Answers whose usage took part. */
  readonly samples: number;
}

export interface CalibrateOptions {
  /** What the model saw, oldest first. After a compaction the usage is gone: calibrate before, and keep it. */
  messages: readonly Message[];
  /** The estimator to correct. Default: by script. */
  base?: TokenEstimator;
  /** The usage of messages before this index is of another context. Default 0. */
  staleBefore?: number;
  /** What was known before: its ratio holds where the messages show too little of their own. Default: a ratio of 1. */
  prior?: Calibration | undefined;
}

/** One request: what was estimated of its text, and what was reported. */
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
 * A slope is taken over this part of the span: long enough that one odd message does not make it, short
 * enough that a context that shrank unseen spoils few of them.
 */
const slopesPerSpan = 6;

/**
 * Learns the ratio from the growth between requests, not from their size, so that the system prompt and
 * the tools, which are in every request and in no message, do not pass for text that was estimated too low.
 * Only answers of the model that answered last take part: each model counts in its own tokens.
 */
export function calibrate(options: CalibrateOptions): Calibration {
  const { messages, base = byScriptEstimator, staleBefore = 0, prior } = options;
  const samples = samplesOf(messages, base, staleBefore);
  // Taken anew, the overhead would hold whatever the ratio misses of the messages that are there.
  const ratio = ratioOf(samples) ?? prior?.ratio ?? 1;
  const overhead = median(samples.map(({ estimated, reported }) => reported - ratio * estimated)) ?? 0;
  return { ratio, overheadTokens: Math.max(0, Math.round(overhead)), samples: samples.length };
}

/** `base`, corrected; images count the same as ever. */
export function calibratedEstimator(
  calibration: Calibration,
  base: TokenEstimator = byScriptEstimator,
): TokenEstimator {
  return estimatorOf("calibrated", (text) => Math.ceil(base.text(text) * calibration.ratio));
}

function samplesOf(messages: readonly Message[], base: TokenEstimator, staleBefore: number): Sample[] {
  const model = modelOf(messages.findLast(isGoodAnswer));
  const samples: Sample[] = [];
  let estimated = 0;
  let images = 0;
  for (const [index, message] of messages.entries()) {
    if (index >= staleBefore && isGoodAnswer(message) && modelOf(message) === model) {
      const reported = promptTokens(message.usage) - images;
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
 * The growth of each sample to the first one that is at least `step` further on. It weighs what its sample
 * added: requests are dense where messages are short, and those would drown the few that read long files.
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

/** The least value that has at least half of the weight at or below it. */
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
