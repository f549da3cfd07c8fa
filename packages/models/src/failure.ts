import { type AssistantMessage, messageText, toolCalls } from "@bonsai-agent/messages";
import type { CatalogueModel } from "./catalogue-model.ts";

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
  /** True where a second attempt may help and a third will not. */
  retryOnce?: boolean | undefined;
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

/** The code of an answer that was given up because it had no end. */
export const TOO_LARGE = "answer_too_large";

/** The code of an answer that ended without a failure and says nothing. */
export const EMPTY_ANSWER = "answer_empty";

/** Neither a blank nor a character that takes no room, such as a zero-width space. */
const SEEN = /[^\s\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}]/u;

/** The failure of an answer that ended as if it were complete, without a word or a call; undefined for any other. */
export function emptyAnswer(
  { provider, id: modelId }: CatalogueModel,
  answer: AssistantMessage,
): ModelFailure | undefined {
  if (toolCalls(answer).length > 0 || SEEN.test(messageText(answer))) return undefined;
  const failure = { kind: "other", code: EMPTY_ANSWER, provider, modelId, retryOnce: true } as const;
  // The same cap would cut the next one off too.
  if (answer.stopReason === "length")
    return {
      ...failure,
      message: "The answer was cut off at its output limit before its first word.",
      retryable: false,
    };
  const hasThought = answer.content.some(({ type }) => type === "thinking");
  const message = hasThought
    ? "The model thought, and ended its answer without a word or a tool call."
    : "The model's answer was empty.";
  return { ...failure, message, retryable: true };
}
