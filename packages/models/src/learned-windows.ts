import { isOllama, loadedWindow } from "./catalogue/ollama-window.ts";
import type { CatalogueModel } from "./catalogue-model.ts";
import type { ModelFailure } from "./failure.ts";

/** Smaller is no model's window: the number meant something else. */
const MIN_WINDOW_TOKENS = 1_000;
/** Servers count their window a token or two short; that is not worth a word. */
const WORTH_KNOWING = 0.999;

/** It has just answered a larger question. */
const ASK_TIMEOUT_MS = 1_000;

/** A window that is not what was believed. */
export interface LearnedWindow {
  fromTokens: number | undefined;
  toTokens: number;
}

export interface AskOllamaOptions {
  model: CatalogueModel;
  apiKey: string | undefined;
  signal: AbortSignal | undefined;
}

/** What servers said of their windows, for one client. Invariant: a learned window is smaller than the catalogue's. */
export class LearnedWindows {
  readonly #tokens = new Map<string, number>();
  readonly #asked = new Set<string>();

  /** The model with the window that its server told, where that is smaller. */
  sized(model: CatalogueModel): CatalogueModel {
    const learned = this.#tokens.get(nameOf(model));
    const isSmaller = learned !== undefined && learned < (model.contextWindow || Number.POSITIVE_INFINITY);
    return isSmaller ? { ...model, contextWindow: learned } : model;
  }

  /** Takes the window out of a refusal; undefined where it tells none, or nothing new. */
  learn(model: CatalogueModel, { kind, windowTokens: toTokens }: ModelFailure): LearnedWindow | undefined {
    if (kind !== "inputTooLong" && kind !== "outputCapTooLarge") return undefined;
    return this.#learn(model, toTokens);
  }

  /**
   * Asks an Ollama once what it runs the model with, when it has answered: before that nobody knows, and what is above
   * its window it cuts off without a word. Undefined for any other server, and where it is what was believed.
   */
  async askOllama({ model, apiKey, signal }: AskOllamaOptions): Promise<LearnedWindow | undefined> {
    const name = nameOf(model);
    if (!isOllama(model) || this.#asked.has(name)) return undefined;
    this.#asked.add(name);
    const timeout = AbortSignal.timeout(ASK_TIMEOUT_MS);
    const question = {
      provider: model,
      apiKey,
      signal: AbortSignal.any([timeout, ...(signal ? [signal] : [])]),
    };
    return this.#learn(model, await loadedWindow(question, model.id));
  }

  #learn(model: CatalogueModel, toTokens: number | undefined): LearnedWindow | undefined {
    if (toTokens === undefined || toTokens < MIN_WINDOW_TOKENS) return undefined;
    const { contextWindow } = this.sized(model);
    if (contextWindow && toTokens >= contextWindow * WORTH_KNOWING) return undefined;
    this.#tokens.set(nameOf(model), toTokens);
    return { fromTokens: contextWindow || undefined, toTokens };
  }
}

function nameOf({ provider, id }: CatalogueModel): string {
  return `${provider}/${id}`;
}
