import type { CatalogueModel } from "../catalogue-model.ts";
import type { ModelFailure } from "../failure.ts";

/** Less room than this is no answer: the input is what has to shrink. */
export const MIN_OUTPUT_TOKENS = 1_024;
/** More is hardly ever said at once, and some providers reserve what is asked for. */
const DEFAULT_OUTPUT_TOKENS = 32_000;
/** Refusals of the cap in one request, after which the input is taken for too long. */
const MAX_LOWERINGS = 2;

export interface OutputCapOptions {
  model: CatalogueModel;
  /** What the caller wants. Default 32,000. */
  wantedTokens: number | undefined;
  /** The estimate of the request. */
  inputTokens: number;
}

/** A cap that was lowered. */
export interface LoweredCap {
  fromTokens: number;
  toTokens: number;
}

/** How many tokens one answer may have: what was wanted, what the model can, what the window leaves. */
export class OutputCap {
  #tokens: number;
  #lowerings = 0;

  constructor({ model, wantedTokens = DEFAULT_OUTPUT_TOKENS, inputTokens }: OutputCapOptions) {
    const { contextWindow = 0, maxOutputTokens = 0 } = model;
    const room = contextWindow > 0 ? contextWindow - inputTokens : Number.POSITIVE_INFINITY;
    const own = maxOutputTokens > 0 ? maxOutputTokens : Number.POSITIVE_INFINITY;
    this.#tokens = Math.max(1, Math.min(wantedTokens, own, Math.max(MIN_OUTPUT_TOKENS, room)));
  }

  get tokens(): number {
    return this.#tokens;
  }

  /** Lowers the cap after a refusal, by its numbers, else to half; undefined where too little would be left. */
  lower(failure: ModelFailure): LoweredCap | undefined {
    const fromTokens = this.#tokens;
    const toTokens = this.#lowered(failure);
    // A model that cannot say more is no matter of room.
    const leastTokens = failure.outputLimitTokens === undefined ? MIN_OUTPUT_TOKENS : 1;
    if (this.#lowerings >= MAX_LOWERINGS || toTokens < leastTokens) return undefined;
    this.#lowerings += 1;
    this.#tokens = toTokens;
    return { fromTokens, toTokens };
  }

  #lowered({ windowTokens, inputTokens, outputLimitTokens }: ModelFailure): number {
    const half = Math.floor(this.#tokens / 2);
    const room =
      windowTokens === undefined || inputTokens === undefined ? undefined : windowTokens - inputTokens;
    const told = outputLimitTokens ?? room;
    if (told === undefined) return half;
    // "At least N input tokens": a count that was not the last word does not hold twice.
    return this.#lowerings === 0 && told < this.#tokens ? told : Math.min(told, half);
  }
}
