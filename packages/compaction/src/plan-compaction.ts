import type { RunCompactionOptions } from "./compaction-options.ts";
import type { CompactionResult } from "./compaction-result.ts";
import { prepareRun } from "./compaction-run.ts";
import { viewTokens, withEdits } from "./context-view.ts";
import { resultOf } from "./describe-run.ts";
import { expectedState, plannedRequests } from "./expected-summary.ts";
import { isReached } from "./ladder.ts";
import { maskEdits, planMasks } from "./mask.ts";
import { masksSuffice } from "./masks-suffice.ts";
import { planSpan } from "./plan.ts";
import type { LadderState } from "./rung.ts";
import type { Summariser } from "./summariser.ts";
import type { SummariserSizes } from "./summary-sizes.ts";

export interface PlanCompactionOptions
  extends Pick<
    RunCompactionOptions,
    "session" | "reason" | "settings" | "model" | "estimator" | "fixedTexts" | "pinned"
  > {
  /** Plan for the path to this entry. Default: the session's leaf. */
  leafId?: string;
  /** Who would be asked for the summary: then the requests are foretold. */
  summariser?: SummariserSizes & Pick<Summariser, "name">;
  /** As for `runCompaction`. */
  focus?: string;
}

/**
 * What `runCompaction` would do, without asking anybody and without writing: the masks, the cut, the spans.
 * `tokensAfter` is with a summary of the size that is usual: how long it will be is not known yet.
 */
export function planCompaction(options: PlanCompactionOptions): CompactionResult {
  const { summariser, ...asked } = options;
  const run = prepareRun(asked);
  const masks = maskEdits(planMasks(run.start.view, options.settings.mask, run.context.commandTokens));
  const view = withEdits(run.start.view, masks);
  const masked: LadderState = {
    ...run.start,
    view,
    tokens: viewTokens(view.items),
    rung: masks.length > 0 ? "mask" : undefined,
  };
  if (isReached(masked, run.context)) return resultOf(run, masked, "planned");
  const plan = planSpan({ ...run.span, view });
  if (masksSuffice(run, { ...masked, plan })) return resultOf(run, { ...masked, plan }, "planned");
  if (plan.status !== "planned") return resultOf(run, { ...run.start, plan }, plan.status);
  const state = { ...masked, plan };
  const requests = summariser === undefined ? {} : plannedRequests(run, state, summariser);
  return { ...resultOf(run, expectedState(run, state, summariser), "planned"), ...requests };
}
