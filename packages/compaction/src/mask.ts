import {
  type ContextView,
  isMasked,
  MASK_PLACEHOLDER,
  type PlannedEdit,
  type ViewItem,
} from "./context-view.ts";
import { isFailedAnswer } from "./failed-answer.ts";
import type { CompactionSettings } from "./settings-schema.ts";

/** Which old tool results to mask. */
export interface MaskPlan {
  /** Oldest first; empty when masking is not worth it. */
  items: readonly ViewItem[];
  freedTokens: number;
}

/** `mask.mode: "local"`: for small models, mask early and often. */
const LOCAL = { protectTokens: 2_000, minimumTokens: 500 };
const NOTHING: MaskPlan = { items: [], freedTokens: 0 };

/**
 * Newest to oldest, protects the newest `protectTokens` of tool results; the one that crosses and all older
 * ones are masked, if that frees at least `minimumTokens` and the context has `minimumUserTurns`. Results that
 * the model has not answered yet count, but are never masked.
 */
export function planMasks(view: ContextView, settings: CompactionSettings["mask"]): MaskPlan {
  const userTurns = view.items.filter((item) => item.message.role === "user").length;
  if (!settings.enabled || userTurns < settings.minimumUserTurns) return NOTHING;
  const { protectTokens, minimumTokens } = settings.mode === "local" ? LOCAL : settings;
  const placeholderTokens = view.estimator.text(MASK_PLACEHOLDER);
  const items = unprotected(view.items, protectTokens).filter((item) => item.tokens > placeholderTokens);
  const freedTokens = items.reduce((sum, item) => sum + item.tokens - placeholderTokens, 0);
  return items.length === 0 || freedTokens < minimumTokens ? NOTHING : { items, freedTokens };
}

/** The edits that carry out a plan, but for the entries that somebody wants kept. */
export function maskEdits(plan: MaskPlan, keep: readonly string[] = []): PlannedEdit[] {
  const kept = new Set(keep);
  return plan.items
    .filter((item) => !kept.has(item.entryId))
    .map((item) => ({ entryId: item.entryId, kind: "mask", content: MASK_PLACEHOLDER }));
}

function unprotected(items: readonly ViewItem[], protectTokens: number): ViewItem[] {
  const answered = items.findLastIndex(
    ({ message }) => message.role === "assistant" && !isFailedAnswer(message),
  );
  let seenTokens = 0;
  const found: ViewItem[] = [];
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index]!;
    if (item.message.role !== "toolResult") continue;
    seenTokens += item.tokens;
    if (index < answered && seenTokens > protectTokens && !isMasked(item.message)) found.push(item);
  }
  return found.reverse();
}
