import type { Summariser, SummaryRequest } from "@bonsai-agent/compaction";
import { messageOf } from "@bonsai-agent/messages";
import type { LanguageModel } from "ai";

/** Writes a summary: receives the whole prompt, returns the answer's text. A longer answer than the limit is refused. */
export type SummaryFunction = (
  prompt: string,
  limits: { maxOutputTokens: number; signal: AbortSignal },
) => Promise<string>;

/** A `LanguageModel` of the AI SDK: an id for its gateway, or an object of a provider. */
export type SummaryModel =
  | string
  | { readonly specificationVersion: string; readonly provider: string; readonly modelId: string };

/** @param contextWindow the window of the summariser in tokens; undefined if unknown */
export function summariserOf(
  model: SummaryFunction | SummaryModel,
  contextWindow: number | undefined,
): Summariser {
  const name = nameOf(model);
  return {
    name,
    contextWindow,
    async summarise(request) {
      const { prompt, maxSummaryTokens: maxOutputTokens, signal } = request;
      try {
        if (typeof model !== "function") return await askModel(model, request);
        const text = await model(`${prompt.system}\n\n${prompt.user}`, { maxOutputTokens, signal });
        return { text, stopReason: "stop" };
      } catch (error) {
        if (signal.aborted) return { text: "", stopReason: "aborted" };
        const { classifyFailure } = await import("@bonsai-agent/models");
        const overflow = classifyFailure({ error, provider: name, modelId: "" }).kind === "inputTooLong";
        return { text: "", stopReason: "error", errorMessage: messageOf(error), overflow };
      }
    },
  };
}

function nameOf(model: SummaryFunction | SummaryModel): string {
  if (typeof model === "string") return model;
  return typeof model === "function" ? model.name || "function" : `${model.provider}/${model.modelId}`;
}

async function askModel(
  model: SummaryModel,
  { prompt, maxSummaryTokens: maxOutputTokens, signal }: SummaryRequest,
) {
  const { generateText } = await import("ai");
  const { system: instructions, user } = prompt;
  const options = { instructions, prompt: user, maxOutputTokens, abortSignal: signal };
  const { text, finishReason } = await generateText({ ...options, model: model as LanguageModel });
  const isEnd = finishReason === "stop" || finishReason === "length";
  return { text, stopReason: isEnd ? finishReason : ("error" as const) };
}
