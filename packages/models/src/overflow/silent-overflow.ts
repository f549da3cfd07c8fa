import { type AssistantMessage, promptTokens } from "@bonsai-agent/messages";
import type { CatalogueModel } from "../catalogue-model.ts";
import type { ModelFailure } from "../failure.ts";

/** An input of this part of the window that leaves no room for a single token has filled it. */
const FULL = 0.99;

export interface SilentOverflowOptions {
  model: CatalogueModel;
  answer: AssistantMessage;
  /** The request's size, where it is known that the server read only a part of it. */
  cutOffTokens?: number | undefined;
}

/** An overflow that the provider reported as a success; undefined for an answer that is what it seems. */
export function silentOverflow(options: SilentOverflowOptions): ModelFailure | undefined {
  const { model, answer, cutOffTokens } = options;
  const reason = reasonOf(options);
  if (reason === undefined) return undefined;
  const windowTokens = model.contextWindow ?? 0;
  const inputTokens = cutOffTokens ?? promptTokens(answer.usage);
  return {
    kind: "inputTooLong",
    message: reason,
    provider: model.provider,
    modelId: model.id,
    retryable: false,
    silent: true,
    ...(inputTokens > 0 && { inputTokens }),
    ...(windowTokens > 0 && { windowTokens }),
  };
}

function reasonOf({ model, answer, cutOffTokens }: SilentOverflowOptions): string | undefined {
  const { usage, stopReason, rawStopReason } = answer;
  if (rawStopReason === "model_context_window_exceeded")
    return "The answer ended because the context window was full.";
  const windowTokens = model.contextWindow ?? 0;
  if (windowTokens <= 0) return undefined;
  const window = windowTokens.toLocaleString("en");
  if (cutOffTokens !== undefined)
    return `The provider answered, but of about ${cutOffTokens.toLocaleString("en")} tokens it read only what its window of ${window} holds.`;
  const inputTokens = promptTokens(usage);
  const isFull = stopReason === "length" && usage.output === 0 && inputTokens >= windowTokens * FULL;
  if (inputTokens <= windowTokens && !isFull) return undefined;
  return `The provider answered, but the request of ${inputTokens.toLocaleString("en")} tokens fills the window of ${window}.`;
}
