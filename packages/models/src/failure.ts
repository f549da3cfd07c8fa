/** The six outcomes of a refused request. Only `inputTooLong` calls for compaction. */
export type FailureKind =
  | "inputTooLong"
  | "outputCapTooLarge"
  | "bytesTooLarge"
  | "rateLimit"
  | "damagedHistory"
  | "other";

/** Why a request failed, in the provider's words and in ours. */
export interface ModelFailure {
  kind: FailureKind;
  /** The provider's message, without keys. */
  message: string;
  provider: string;
  modelId: string;
  /** HTTP status; absent where no answer came. */
  status?: number | undefined;
  /** The provider's own code or type. */
  code?: string | undefined;
  /** True when the same request may succeed later. */
  retryable: boolean;
  /** What the provider asked to wait. */
  retryAfterMs?: number | undefined;
  /** The server's window, where the message tells. */
  windowTokens?: number | undefined;
  /** The server's count of the input, where the message tells. */
  inputTokens?: number | undefined;
  /** The output cap that was asked for, where the message tells. */
  outputTokens?: number | undefined;
  /** The largest output cap that the model takes, where the message tells. */
  outputLimitTokens?: number | undefined;
  /** The size of the request, where the message tells. */
  requestBytes?: number | undefined;
  /** The largest request that the server takes, where the message tells. */
  limitBytes?: number | undefined;
  /** True when no word of the refusal says so, but the size of what was refused: worth one try, not two. */
  presumed?: boolean | undefined;
  /** True when the provider answered as if nothing were wrong. */
  silent?: boolean | undefined;
}
