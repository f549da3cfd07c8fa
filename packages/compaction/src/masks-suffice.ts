import type { Run } from "./compaction-run.ts";
import { isReached } from "./ladder.ts";
import type { LadderState } from "./rung.ts";

/** An automatic run is done at its target; one that the user asked for, when masks alone made the rest fit its budget. */
export function masksSuffice({ reason, start, span, context }: Run, state: LadderState): boolean {
  if (state.view.edits.length === 0) return false;
  if (reason !== "manual") return isReached(state, context);
  return state.plan?.status === "nothing-to-compact" && start.tokens > span.keepTokens;
}
