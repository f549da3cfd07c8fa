import { BonsaiError } from "@bonsai-agent/messages";
import type { CompactionResult } from "./compaction-result.ts";
import type { Run } from "./compaction-run.ts";
import { resultOf } from "./describe-run.ts";
import type { LadderState } from "./rung.ts";

/** The result of a run that got nowhere: nothing was written. */
export function failedResult(run: Run, state: LadderState, cause?: unknown): CompactionResult {
  const error = BonsaiError.is(cause) ? cause : runError(run, state, cause);
  return { ...resultOf(run, state, "failed"), detail: error.message, error };
}

function runError(run: Run, state: LadderState, cause: unknown): BonsaiError {
  const causes = causesOf(run, state, cause);
  if (run.reason === "overflow") {
    return new BonsaiError({
      code: "context_too_large",
      message: `Context too large. Compaction failed. Use /compact to retry manually. ${causes}`,
      hint: "Retry with /compact, go back with /tree, start afresh with /new, or choose a model with a larger window.",
      cause,
    });
  }
  return new BonsaiError({
    code: "compaction_failed",
    message: `Compaction failed. ${causes}`,
    hint: "Retry with /compact, use the built-in digest (`--digest`), or choose another model to summarise.",
    cause,
  });
}

function causesOf({ span }: Run, state: LadderState, cause: unknown): string {
  const failures = state.failures.map(({ rung, message }) => `${rung}: ${message}`);
  const thrown = cause === undefined ? [] : [cause instanceof Error ? cause.message : String(cause)];
  const causes = [...failures, ...thrown];
  if (causes.length > 0) return `Causes: ${causes.join(" | ")}`;
  return span.justCompacted
    ? "Cause: nothing came after the latest compaction."
    : "Cause: nothing is left that could be summarised, masked or cut.";
}
