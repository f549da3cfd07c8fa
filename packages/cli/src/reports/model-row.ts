/** One row of `bonsai models --json`. */
export interface ModelRow {
  provider: string;
  id: string;
  name: string;
  /** Tokens; null where unknown. */
  contextWindow: number | null;
  /** Tokens; null where unknown. */
  maxOutputTokens: number | null;
  input: readonly ("text" | "image")[];
  reasoning: boolean;
  /** Null where unknown, as for local servers. */
  usdPerMillionTokens: { input: number; output: number; cacheRead: number; cacheWrite: number } | null;
  /** True when it can be asked now. */
  usable: boolean;
  /** The variable of the environment or the file that holds the key; null where there is none, or none is needed. */
  key: string | null;
  /** True for the model that is used when none is named. */
  isDefault: boolean;
}
