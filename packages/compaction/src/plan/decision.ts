import type { CompactionReason } from "../details.ts";
import type { Summariser } from "../summariser.ts";
import { contextLimit } from "./economy.ts";
import {
  type Budgets,
  believedRefusal,
  budgetsFor,
  limitAfterRefusal,
  type ModelSizes,
  type Refusal,
  refusedTokens,
  sizesAfterRefusal,
  thresholdTokens,
} from "./limits.ts";
import { type ContextReading, type ReadContextOptions, readContext } from "./tokens.ts";

/** The options of a compaction that its decision depends on. */
export interface DecisionOptions extends ReadContextOptions {
  reason?: CompactionReason | undefined;
  model?: ModelSizes | undefined;
  summariser?: Summariser | undefined;
  isMidTask?: boolean | undefined;
  refusal?: Refusal | undefined;
  nowMs?: number | undefined;
}

/** The size of the context and its limits. The controller and its run share one. */
export interface Decision {
  readonly reading: ContextReading;
  /** Scaled to the model's window; after a refusal, to the window that the refusal showed. */
  readonly budgets: Budgets;
  /** One token more needs a compaction. Undefined for an unknown window, and if the only goal is a summary. */
  readonly compactAboveTokens: number | undefined;
  /** The same without the economy, which may lower the limit. */
  readonly thresholdTokens: number | undefined;
  /** True if the limit is lower because the cache has expired: the next request pays for its whole prefix anyway. */
  readonly isExpired?: boolean;
  /** As read, or more if a refusal showed that the reading was too low. */
  readonly total: { tokens: number; estimatedTokens: number; isCounted?: boolean };
}

/** Reads the context and decides which size it may have. */
export function decide(request: DecisionOptions, reading = readContext(request)): Decision {
  const { reason = "manual", settings, model = {}, isMidTask = false, nowMs } = request;
  const read = { tokens: reading.tokens, estimatedTokens: reading.trailingTokens };
  if (reason !== "overflow") {
    const budgets = budgetsFor({ settings, model, reason: isMidTask ? "threshold" : reason });
    const isModelAsked = request.summariser !== undefined;
    const limits =
      reason === "manual"
        ? undefined
        : contextLimit({ settings, model, budgets, reading, isModelAsked, nowMs });
    const { limitTokens, isExpired = false } = limits ?? {};
    const threshold = limits?.thresholdTokens;
    return {
      reading,
      budgets,
      compactAboveTokens: limitTokens,
      thresholdTokens: threshold,
      isExpired,
      total: read,
    };
  }
  const refusal = believedRefusal(request.refusal ?? {}, reading);
  const budgets = budgetsFor({ settings, model: sizesAfterRefusal(model, refusal, reading), reason });
  const limit = limitAfterRefusal({
    thresholdTokens: thresholdTokens(settings, budgets),
    budgets,
    model,
    refusal,
    reading,
  });
  const tokens = refusedTokens(refusal, reading, budgets.windowTokens);
  const total =
    tokens === refusal.inputTokens
      ? { tokens, estimatedTokens: 0, isCounted: reading.source === "usage" }
      : tokens === reading.tokens
        ? read
        : { tokens, estimatedTokens: tokens };
  return { reading, budgets, compactAboveTokens: limit, thresholdTokens: limit, total };
}
