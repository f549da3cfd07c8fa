import type { CatalogueModel } from "./catalogue-model.ts";
import type { ModelFailure } from "./failure.ts";

/** Smaller is no model's window: the number meant something else. */
const MIN_WINDOW_TOKENS = 1_000;
/** Servers count their window a token or two short; that is not worth a word. */
const WORTH_KNOWING = 0.999;

/** A window that is not what was believed. */
export interface LearnedWindow {
  fromTokens: number | undefined;
  toTokens: number;
}

/** What servers said of their windows, for one client. Invariant: a learned window is smaller than the catalogue's. */
export class LearnedWindows {
  readonly #tokens = new Map<string, number>();

  /** The model with the window that its server told, where that is smaller. */
  sized(model: CatalogueModel): CatalogueModel {
    const learned = this.#tokens.get(nameOf(model));
    const isSmaller = learned !== undefined && learned < (model.contextWindow || Number.POSITIVE_INFINITY);
    return isSmaller ? { ...model, contextWindow: learned } : model;
  }

  /** Takes the window out of a refusal; undefined where it tells none, or nothing new. */
  learn(model: CatalogueModel, { kind, windowTokens: toTokens }: ModelFailure): LearnedWindow | undefined {
    if (kind !== "inputTooLong" && kind !== "outputCapTooLarge") return undefined;
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
