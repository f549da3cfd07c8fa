import type { ImageContent, Message } from "@bonsai-agent/messages";
import { loadedWindow } from "../catalogue/server-models.ts";
import { type CatalogueModel, isOllama, referenceOf } from "../model.ts";
import type { ModelFailure, ModelRequest } from "../model-request.ts";
import { contextChangedAtMs, latestMs, withoutImages } from "../repair/repair-content.ts";

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

/** The thinking to leave out of a context. */
export interface WithoutThinking {
  /** Leaves out the thinking of answers up to this time, in milliseconds since the epoch. */
  upToMs: number;
  /** Switches thinking off: some servers demand the thinking of earlier calls while it is on. */
  isOff: boolean;
}

interface Refusal {
  contextMs: number;
  upToMs: number;
  count: number;
}

/** After this many refusals, a context is never sent with thinking again. */
const MAX_REFUSALS = 2;

/**
 * The contexts that a provider refused for their thinking, by session and model, until the context changes. Spares a
 * refused request each time.
 */
export class RefusedThinking {
  readonly #refusals = new Map<string, Refusal>();

  of(request: ModelRequest): WithoutThinking | undefined {
    const refusal = this.#refusals.get(keyOf(request));
    if (
      refusal === undefined ||
      refusal.contextMs !== contextChangedAtMs(request.messages, request.prefixChangedAtMs)
    )
      return undefined;
    const { upToMs, count } = refusal;
    const isSameTurn = !request.messages.some(
      (message) => message?.role === "user" && message.timestamp > upToMs,
    );
    return { upToMs, isOff: isSameTurn || count >= MAX_REFUSALS };
  }

  /** Adds a context that the provider accepted only without its thinking. */
  add(request: ModelRequest): void {
    const key = keyOf(request);
    const earlier = this.#refusals.get(key);
    const stamp = contextChangedAtMs(request.messages, request.prefixChangedAtMs);
    const count = earlier?.contextMs === stamp ? earlier.count + 1 : 1;
    this.#refusals.set(key, { contextMs: stamp, upToMs: latestMs(request.messages), count });
  }
}

function keyOf({ model: { provider, id }, cacheKey = "" }: ModelRequest): string {
  return JSON.stringify([provider, id, cacheKey]);
}

/** The refused images of one client, by model, with the line of text that replaces each. */
export class RefusedImages {
  readonly #lines = new Map<string, Map<string, string>>();

  add(model: CatalogueModel, images: readonly ImageContent[], line: string): void {
    const name = referenceOf(model);
    const lines = this.#lines.get(name) ?? new Map<string, string>();
    for (const { data } of images) lines.set(data, line);
    this.#lines.set(name, lines);
  }

  /** Replaces this model's refused images. Returns the same array if there are none. */
  without(messages: readonly Message[], model: CatalogueModel): readonly Message[] {
    const lines = this.#lines.get(referenceOf(model));
    return lines === undefined ? messages : withoutImages(messages, ({ data }) => lines.get(data));
  }
}
