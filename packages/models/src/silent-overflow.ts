import { type AssistantMessage, promptTokens } from "@bonsai-agent/messages";
import type { CatalogueModel } from "./catalogue-model.ts";
import type { ModelFailure } from "./failure.ts";

/** An input of this part of the window that leaves no room for a single token has filled it. */
const FULL = 0.99;

/** An overflow that the provider reported as a success; undefined for an answer that is what it seems. */
export function silentOverflow(model: CatalogueModel, answer: AssistantMessage): ModelFailure | undefined {
  const { usage, stopReason, rawStopReason } = answer;
  const windowTokens = model.contextWindow ?? 0;
  const inputTokens = promptTokens(usage);
  const isAbove = windowTokens > 0 && inputTokens > windowTokens;
  const isFull =
    windowTokens > 0 && stopReason === "length" && usage.output === 0 && inputTokens >= windowTokens * FULL;
  const isTold = rawStopReason === "model_context_window_exceeded";
  if (!isAbove && !isFull && !isTold) return undefined;
  const told = inputTokens.toLocaleString("en");
  const reason = isTold
    ? "The answer ended because the context window was full"
    : `The provider answered, but the request of ${told} tokens fills the window of ${windowTokens.toLocaleString("en")}`;
  return {
    kind: "inputTooLong",
    message: `${reason}.`,
    provider: model.provider,
    modelId: model.id,
    retryable: false,
    silent: true,
    ...(inputTokens > 0 && { inputTokens }),
    ...(windowTokens > 0 && { windowTokens }),
  };
}
