import type { ContextTokens } from "@bonsai-agent/messages";
import type { Budgets, ModelSizes } from "./budget.ts";
import type { ContextSize } from "./context-size.ts";
import type { CompactionReason } from "./outcome.ts";
import { limitAfterRefusal, type Refusal } from "./refusal.ts";
import type { LadderContext } from "./rung.ts";
import type { CompactionSettings } from "./settings-schema.ts";
import { thresholdTokens } from "./threshold.ts";

export interface AimOptions {
  reason: CompactionReason;
  settings: CompactionSettings;
  budgets: Budgets;
  model: ModelSizes;
  refusal: Refusal | undefined;
  reading: ContextTokens;
  size: ContextSize;
}

/** What a request may take of a window, for an answer needs room and an estimate errs. */
const USABLE_SHARE = 0.8;

/**
 * A request whose estimate is so many times the window is not sent: estimates err by a tenth on paths and values, seldom
 * by more upwards, and a server that cuts in silence would lose the beginning of it.
 */
const FAR_ABOVE = 1.1;

/** The most tokens of a request that is sent. */
export function sendableTokens(windowTokens: number): number {
  return Math.floor(windowTokens * FAR_ABOVE);
}

/** Where a compaction wants to come down to. */
export function aimsOf(
  options: AimOptions,
): Pick<LadderContext, "targetTokens" | "mostTokens" | "sendableTokens"> {
  const { windowTokens } = options.budgets;
  const limit = options.reason === "manual" ? undefined : limitTokens(options);
  const usable = windowTokens && Math.floor(windowTokens * USABLE_SHARE);
  return {
    targetTokens: inEstimates(limit, options),
    mostTokens: inEstimates(usable, options),
    sendableTokens: inEstimates(windowTokens && sendableTokens(windowTokens), options),
  };
}

/** The most tokens that the context may hold afterwards. */
function limitTokens({ settings, budgets, model, refusal, reading }: AimOptions): number | undefined {
  const limit = thresholdTokens(settings, budgets);
  const { windowTokens } = budgets;
  if (refusal === undefined || limit === undefined || windowTokens === undefined) return limit;
  const isWindowKnown = (model.contextWindow ?? 0) > 0;
  return limitAfterRefusal({ limitTokens: limit, windowTokens, isWindowKnown, refusal, reading });
}

/** In estimated tokens of the messages. */
function inEstimates(tokens: number | undefined, { size }: AimOptions): number | undefined {
  return tokens === undefined ? undefined : size.estimateWithin(tokens);
}
