import type { ProviderStreamRequest } from "@bonsai-agent/extension";
import type { ThinkingConfig, ThinkingLevel as WireLevel } from "@google/genai";
import { generationOf } from "./gemini-models.ts";

type Level = NonNullable<ProviderStreamRequest["thinking"]>;

/** The budgets of 2.5, whose Flash models take up to 24,576 tokens. */
const budgets: Record<Exclude<Level, "off">, number> = {
  minimal: 512,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 24_576,
};

/** The minimum of Pro, which cannot stop thinking. */
const MIN_PRO_TOKENS = 128;
/** The share of the output limit for thinking. */
const MAX_BUDGET_SHARE = 0.75;

/** The thinking settings in the model's own form; empty for a model that cannot think. */
export function geminiThinking(
  { id, reasoning }: ProviderStreamRequest["model"],
  level: Level,
  maxOutputTokens: number | undefined,
): { thinkingConfig?: ThinkingConfig } {
  const generation = generationOf(id);
  if (!reasoning || generation < 2.5) return {};
  const isShown = level !== "off";
  if (generation < 3) {
    const thinkingBudget = budgetOf(id, level, maxOutputTokens);
    return { thinkingConfig: { thinkingBudget, ...(isShown && { includeThoughts: true }) } };
  }
  return { thinkingConfig: { thinkingLevel: levelOf(id, level), ...(isShown && { includeThoughts: true }) } };
}

function budgetOf(id: string, level: Level, maxOutputTokens = Number.POSITIVE_INFINITY): number {
  const least = /pro/.test(id) ? MIN_PRO_TOKENS : 0;
  if (level === "off") return least;
  return Math.max(least, Math.min(budgets[level], Math.floor(maxOutputTokens * MAX_BUDGET_SHARE)));
}

/** Gemini 3 cannot stop thinking. Flash models up to 3.6 have one more level, below the others'. */
const withMinimal = /flash/;

function levelOf(id: string, level: Level): WireLevel {
  const hasMinimal = withMinimal.test(id) && generationOf(id) < 3.7;
  switch (level) {
    case "off":
    case "minimal":
      return (hasMinimal ? "MINIMAL" : "LOW") as WireLevel;
    case "low":
      return "LOW" as WireLevel;
    case "medium":
      return "MEDIUM" as WireLevel;
    default:
      return "HIGH" as WireLevel;
  }
}
