import { loadedWindow } from "./catalogue/server-window.ts";
import type { ModelFailure } from "./failure.ts";
import { type CatalogueModel, isOllama } from "./model.ts";

/** Smaller is no model's window: the number meant something else. */
const MIN_WINDOW_TOKENS = 1_000;
/** Servers count their window a token or two short; that is not worth a word. */
const WORTH_KNOWING = 0.999;
/** A server may count so many tokens for each of ours; a usage above that is no count of what was sent. */
const MOST_SKEW = 1.5;

/** It has just answered a larger question. */
const ASK_TIMEOUT_MS = 1_000;

/** A window that is not what was believed. */
export interface LearnedWindow {
  fromTokens: number | undefined;
  toTokens: number;
}

/** What servers taught about their windows, for one client. Invariant: a learned window is smaller than the catalogue's. */
export class LearnedWindows {
  readonly #tokens = new Map<string, number>();
  /** Sized models, and what they were: what was learned may turn out wrong. */
  readonly #declared = new WeakMap<CatalogueModel, CatalogueModel>();
  /** The largest requests that were answered. */
  readonly #answered = new Map<string, number>();
  readonly #asked = new Set<string>();

  /** The model with the window that its server named, where that is smaller. */
  sized(model: CatalogueModel): CatalogueModel {
    const declared = this.#declared.get(model) ?? model;
    const learned = this.#tokens.get(nameOf(model));
    const isSmaller = learned !== undefined && learned < (declared.contextWindow || Number.POSITIVE_INFINITY);
    if (!isSmaller) return declared;
    const sized = { ...declared, contextWindow: learned };
    this.#declared.set(sized, declared);
    return sized;
  }

  /** Takes the window out of a refusal; undefined where it names none, or nothing new. */
  learn(model: CatalogueModel, { kind, windowTokens: toTokens }: ModelFailure): LearnedWindow | undefined {
    if (kind !== "inputTooLong" && kind !== "outputCapTooLarge") return undefined;
    return this.#learn(model, toTokens);
  }

  /**
   * A request above the window that a refusal named shows that its number was wrong: it is forgotten for good. Tokens as
   * the server reports them, and by estimate.
   */
  answered(
    model: CatalogueModel,
    { reportedTokens, estimatedTokens }: { reportedTokens: number; estimatedTokens: number },
  ): void {
    if (reportedTokens > estimatedTokens * MOST_SKEW) return;
    const name = nameOf(model);
    this.#answered.set(name, Math.max(reportedTokens, this.#answered.get(name) ?? 0));
    if (reportedTokens > (this.#tokens.get(name) ?? Number.POSITIVE_INFINITY)) this.#tokens.delete(name);
  }

  /**
   * Asks an Ollama once what it runs the model with, when it has answered: before that nobody knows, and what is above
   * its window it cuts off without a word. Undefined for any other server, and where it is what was believed.
   */
  async askOllama(
    model: CatalogueModel,
    apiKey: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<LearnedWindow | undefined> {
    const name = nameOf(model);
    if (!isOllama(model) || this.#asked.has(name)) return undefined;
    this.#asked.add(name);
    const timeout = AbortSignal.timeout(ASK_TIMEOUT_MS);
    const both = AbortSignal.any([timeout, ...(signal ? [signal] : [])]);
    return this.#learn(model, await loadedWindow({ provider: model, apiKey, signal: both }, model.id));
  }

  #learn(model: CatalogueModel, toTokens: number | undefined): LearnedWindow | undefined {
    if (toTokens === undefined || toTokens < MIN_WINDOW_TOKENS) return undefined;
    if (toTokens < (this.#answered.get(nameOf(model)) ?? 0)) return undefined;
    const { contextWindow } = this.sized(model);
    if (contextWindow && toTokens >= contextWindow * WORTH_KNOWING) return undefined;
    this.#tokens.set(nameOf(model), toTokens);
    return { fromTokens: contextWindow || undefined, toTokens };
  }
}

function nameOf({ provider, id }: CatalogueModel): string {
  return `${provider}/${id}`;
}
