import type { AnswerBuilder } from "../answer-builder.ts";
import { ProviderError } from "../provider.ts";
import { refusal } from "./openai-error.ts";

/** Reasons that mean that the answer is not complete and will not be. */
const brokenOff: Readonly<Record<string, number | undefined>> = {
  error: undefined,
  abort: undefined,
  // z.ai
  network_error: undefined,
  // DeepSeek
  insufficient_system_resource: 503,
};

const atLimit = ["length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"];

/** Reasons for which a server withholds an answer, or the rest of it. */
const withheld = ["content_filter", "sensitive", "safety", "refusal"];

/**
 * Sets the stop reason from the provider's word for it, which is kept. Calls count for more than the word: many servers
 * say "stop" after them. Throws ProviderError where the word says that the answer broke off, or that there is none.
 */
export function finishAnswer(answer: AnswerBuilder, rawReason: string, error?: unknown): void {
  const reason = rawReason.toLowerCase();
  if (Object.hasOwn(brokenOff, reason)) {
    const status = brokenOff[reason];
    if (error !== undefined) throw refusal({ body: { error }, status });
    const message = `The server broke the answer off: ${rawReason}.`;
    throw new ProviderError({
      kind: status === undefined ? "cut" : "refused",
      message,
      status,
      code: rawReason,
    });
  }
  const { content } = answer.message;
  if (withheld.includes(reason) && content.length === 0) {
    const message = `The provider withheld the answer (${rawReason}).`;
    throw new ProviderError({ kind: "refused", message, code: rawReason });
  }
  const hasCalls = content.some(({ type }) => type === "toolCall");
  answer.stop(atLimit.includes(reason) ? "length" : hasCalls ? "toolUse" : "stop", rawReason);
}

/**
 * For a stream that ended without a word on why: an answer that the server itself declared done is taken as complete.
 * Throws ProviderError "cut" for any other.
 */
export function finishWithoutReason(answer: AnswerBuilder, saidDone: boolean): void {
  const { content } = answer.message;
  if (!saidDone || content.length === 0) {
    const where = content.length === 0 ? "began" : "was complete";
    throw new ProviderError({ kind: "cut", message: `The stream ended before the answer ${where}.` });
  }
  answer.stop(content.some(({ type }) => type === "toolCall") ? "toolUse" : "stop");
}
