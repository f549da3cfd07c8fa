import { loadedWindow } from "../catalogue/server-models.ts";
import { type CatalogueModel, isOllama, referenceOf } from "../model.ts";
import type { ModelFailure } from "../model-request.ts";

/** A smaller number is no window of a model. */
const MIN_WINDOW_TOKENS = 1_000;
/** Servers report their window a token or two short. A smaller difference is ignored. */
const SAME_WINDOW = 0.999;
/** Maximum ratio of a server's count to the estimate. A larger count does not describe the request. */
const MAX_COUNT_RATIO = 1.5;
/** The server has just answered a request. */
const OLLAMA_TIMEOUT_MS = 1_000;

/** A window that differs from the known one. */
export interface LearnedWindow {
  fromTokens: number | undefined;
  toTokens: number;
}

/**
 * The windows that servers reported, for one client.
 *
 * Invariant: a learned window is smaller than the catalogue's.
 */
export class LearnedWindows {
  readonly #tokens = new Map<string, number>();
  /** The original of each changed model: a learned window may turn out wrong. */
  readonly #declared = new WeakMap<CatalogueModel, CatalogueModel>();
  /** The largest answered requests, in tokens. */
  readonly #answered = new Map<string, number>();
  readonly #askedServers = new Set<string>();

  /** The model with its learned window, if that is smaller. */
  withLearnedWindow(model: CatalogueModel): CatalogueModel {
    const declared = this.#declared.get(model) ?? model;
    const learned = this.#tokens.get(referenceOf(model));
    const isSmaller = learned !== undefined && learned < (declared.contextWindow || Number.POSITIVE_INFINITY);
    if (!isSmaller) return declared;
    const sized = { ...declared, contextWindow: learned, declaredWindow: declared.contextWindow };
    this.#declared.set(sized, declared);
    return sized;
  }

  /**
   * Learns the window in a refusal. Returns undefined if it contains none, or the known one.
   * @param acceptedTokens the largest request that the server has answered. The window is not smaller
   */
  learn(
    model: CatalogueModel,
    { kind, windowTokens: toTokens }: ModelFailure,
    acceptedTokens = 0,
  ): LearnedWindow | undefined {
    if (kind !== "inputTooLong" && kind !== "outputCapTooLarge") return undefined;
    return (toTokens ?? 0) < acceptedTokens ? undefined : this.#learn(model, toTokens);
  }

  /** Forgets a learned window for good if a larger request was answered. */
  noteAnsweredSize(
    model: CatalogueModel,
    { reportedTokens, estimatedTokens }: { reportedTokens: number; estimatedTokens: number },
  ): void {
    if (reportedTokens > estimatedTokens * MAX_COUNT_RATIO) return;
    const name = referenceOf(model);
    this.#answered.set(name, Math.max(reportedTokens, this.#answered.get(name) ?? 0));
    if (reportedTokens > (this.#tokens.get(name) ?? Number.POSITIVE_INFINITY)) this.#tokens.delete(name);
  }

  /**
   * Asks an Ollama once, after its first answer, for the window of the loaded model: it cuts off longer requests without
   * a word. Returns undefined for other servers, and for the known window.
   */
  async askOllama(
    model: CatalogueModel,
    apiKey: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<LearnedWindow | undefined> {
    const name = referenceOf(model);
    if (!isOllama(model) || this.#askedServers.has(name)) return undefined;
    this.#askedServers.add(name);
    const timeout = AbortSignal.timeout(OLLAMA_TIMEOUT_MS);
    const both = AbortSignal.any([timeout, ...(signal ? [signal] : [])]);
    return this.#learn(model, await loadedWindow({ provider: model, apiKey, signal: both }, model.id));
  }

  #learn(model: CatalogueModel, toTokens: number | undefined): LearnedWindow | undefined {
    if (toTokens === undefined || toTokens < MIN_WINDOW_TOKENS) return undefined;
    if (toTokens < (this.#answered.get(referenceOf(model)) ?? 0)) return undefined;
    const { contextWindow } = this.withLearnedWindow(model);
    if (contextWindow && toTokens >= contextWindow * SAME_WINDOW) return undefined;
    this.#tokens.set(referenceOf(model), toTokens);
    return { fromTokens: contextWindow || undefined, toTokens };
  }
}
