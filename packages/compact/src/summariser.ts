import type { Summariser, SummaryAnswer, SummaryRequest } from "@bonsai-agent/compaction";
import { emptyUsage, messageOf } from "@bonsai-agent/messages";
import { readRefusal } from "./refusal.ts";

/** Limits of a summary. */
export interface SummaryOptions {
  /** The system part of the prompt, for models that take it apart. */
  system: string;
  /** The rest of the prompt. */
  user: string;
  /** A longer answer is refused. */
  maxOutputTokens: number;
  signal: AbortSignal;
}

/** Writes a summary: receives the whole prompt, returns the answer's text. */
export type SummaryFunction = (prompt: string, options: SummaryOptions) => Promise<string>;

/** A `LanguageModel` of the AI SDK: an id for its gateway, or an object of a provider. */
export type SummaryModel =
  | string
  | {
      readonly specificationVersion: string;
      readonly provider: string;
      readonly modelId: string;
      // biome-ignore lint/suspicious/noExplicitAny: three versions of the interface have different options
      doGenerate(options: any): PromiseLike<unknown>;
    };

/** @param contextWindow the window of the summariser in tokens; undefined if unknown */
export function summariserOf(
  model: SummaryFunction | SummaryModel,
  contextWindow: number | undefined,
): Summariser {
  const name = typeof model === "function" ? model.name || "function" : nameOf(model);
  const ask = typeof model === "function" ? askFunction(model) : askModel(model);
  return {
    name,
    contextWindow,
    async summarise(request) {
      try {
        return await ask(request);
      } catch (error) {
        if (request.signal.aborted) return { text: "", stopReason: "aborted" };
        const refusal = await readRefusal(error, { provider: name, modelId: "" });
        const overflow = refusal?.kind === "inputTooLong";
        return { text: "", stopReason: "error", errorMessage: messageOf(error), overflow };
      }
    },
  };
}

function nameOf(model: SummaryModel): string {
  return typeof model === "string" ? model : `${model.provider}/${model.modelId}`;
}

function askFunction(summarise: SummaryFunction) {
  return async ({ prompt, maxSummaryTokens, signal }: SummaryRequest): Promise<SummaryAnswer> => {
    const options = { ...prompt, maxOutputTokens: maxSummaryTokens, signal };
    return { text: await summarise(`${prompt.system}\n\n${prompt.user}`, options), stopReason: "stop" };
  };
}

function askModel(model: SummaryModel) {
  return async ({ prompt, maxSummaryTokens, signal }: SummaryRequest): Promise<SummaryAnswer> => {
    const { generateText } = await import("ai");
    const { text, finishReason, usage } = await generateText({
      model: model as Parameters<typeof generateText>[0]["model"],
      instructions: prompt.system,
      prompt: prompt.user,
      maxOutputTokens: maxSummaryTokens,
      abortSignal: signal,
    });
    const stopReason = finishReason === "stop" || finishReason === "length" ? finishReason : "error";
    const { inputTokens: input = 0, outputTokens: output = 0 } = usage;
    return { text, stopReason, usage: { ...emptyUsage(), input, output, totalTokens: input + output } };
  };
}
