import type { CompactionResult } from "@bonsai-agent/compaction";
import type { Model, ModelPrices } from "@bonsai-agent/messages";

/** What a compaction would ask of a model, and what that would cost. */
export interface PlannedCost {
  /** `provider/id`. */
  model: string;
  /** Estimated. None where the model cannot be asked. */
  requests: { kind: string; inputTokens: number; maxOutputTokens: number }[];
  /** US dollars: without a word of answer, and with answers of full length. Null where the prices are unknown. */
  costUsd: { least: number; most: number } | null;
  /** Why it cannot be asked. */
  failure?: string;
}

/** Undefined where no model would be asked. */
export function plannedCost(result: CompactionResult, model: Model): PlannedCost | undefined {
  const { plannedRequests, failures } = result;
  if (plannedRequests === undefined) return undefined;
  const requests = plannedRequests.map((request) => ({ ...request }));
  const failure = requests.length === 0 ? failures.at(-1)?.message : undefined;
  return {
    model: `${model.provider}/${model.id}`,
    requests,
    costUsd: costOf(requests, model.usdPerMillionTokens),
    ...(failure === undefined ? {} : { failure }),
  };
}

function costOf(requests: PlannedCost["requests"], prices: ModelPrices | undefined): PlannedCost["costUsd"] {
  if (prices === undefined || !Number.isFinite(prices.input + prices.output)) return null;
  const sum = (field: "inputTokens" | "maxOutputTokens") =>
    requests.reduce((all, each) => all + each[field], 0);
  const least = (sum("inputTokens") * prices.input) / 1_000_000;
  return { least, most: least + (sum("maxOutputTokens") * prices.output) / 1_000_000 };
}
