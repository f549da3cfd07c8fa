import { type AssistantMessage, promptTokens } from "@bonsai-agent/messages";
import { classifyFailure, ProviderError } from "@bonsai-agent/models";

/** True for an answer that says that the request was too long, also one that was cut off in silence. */
export function isContextOverflow(answer: AssistantMessage, contextWindow?: number): boolean {
  const { stopReason, errorMessage, provider, model, usage } = answer;
  if (stopReason !== "error") return !!contextWindow && promptTokens(usage) > contextWindow;
  const status = /^(\d{3})\b/.exec(errorMessage ?? "")?.[1];
  const error = new ProviderError({
    kind: "refused",
    message: errorMessage ?? "",
    ...(status === undefined ? {} : { status: Number(status) }),
  });
  return classifyFailure({ error, provider, modelId: model }).kind === "inputTooLong";
}
