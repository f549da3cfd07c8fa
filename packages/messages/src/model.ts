/** US dollars per million tokens. */
export interface ModelPrices {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

/** A model, as far as sizes and prices go. */
export interface Model {
  provider: string;
  id: string;
  name?: string | undefined;
  /** Tokens; absent or 0 where unknown. */
  contextWindow?: number | undefined;
  /** Tokens; absent where unknown. */
  maxOutputTokens?: number | undefined;
  usdPerMillionTokens?: ModelPrices | undefined;
}
