import { BonsaiError } from "@bonsai-agent/messages";
import type { CompactionResult } from "./compaction-result.ts";
import type { Run } from "./compaction-run.ts";
import { resultOf } from "./describe-run.ts";
import type { CompactionReason } from "./outcome.ts";
import type { LadderState } from "./rung.ts";
import { sentence } from "./sentence.ts";

/** What is said, before the causes, when an overflow could not be recovered from. */
export const CONTEXT_TOO_LARGE = "Context too large. Compaction failed. Use /compact to retry manually.";

/** The result of a run that got nowhere: nothing was written. */
export function failedResult(run: Run, state: LadderState, cause?: unknown): CompactionResult {
  const error = BonsaiError.is(cause) ? cause : runError(run.reason, causesOf(run, state, cause), cause);
  return { ...resultOf(run, state, "failed"), detail: error.message, error };
}

/** The result of a run that could not even begin: the session or its settings could not be read. */
export function unpreparedResult(reason: CompactionReason, cause: unknown): CompactionResult {
  const error = failureOf(reason, cause);
  return {
    status: "failed",
    reason,
    rung: null,
    tokensBefore: 0,
    tokensAfter: 0,
    sizes: {
      fixedTokens: 0,
      summarisedTokens: 0,
      turnPrefixTokens: 0,
      maskedTokens: 0,
      keptTokens: 0,
      summaryTokens: 0,
    },
    firstKeptEntryId: null,
    splitTurn: false,
    summarizedEntryIds: [],
    turnPrefixEntryIds: [],
    keptEntryIds: [],
    maskedEntryIds: [],
    readFiles: [],
    modifiedFiles: [],
    edits: [],
    requests: 0,
    costUsd: 0,
    detail: error.message,
    failures: [],
    error,
  };
}

/** Whatever was thrown, as an error for the user. */
export function failureOf(reason: CompactionReason, cause: unknown): BonsaiError {
  return BonsaiError.is(cause) ? cause : runError(reason, sentence(`Cause: ${messageOf(cause)}`), cause);
}

function runError(reason: CompactionReason, causes: string, cause: unknown): BonsaiError {
  if (reason === "overflow") {
    return new BonsaiError({
      code: "context_too_large",
      message: `${CONTEXT_TOO_LARGE} ${causes}`,
      hint: "Compact by hand (/compact, `bonsai compact`), go back (/tree, `bonsai goto`), start afresh, or choose a model with a larger window.",
      cause,
    });
  }
  return new BonsaiError({
    code: "compaction_failed",
    message: `Compaction failed. ${causes}`,
    hint: `${reason === "manual" ? "Try again" : "Compact by hand (/compact, `bonsai compact`)"}, ${withDigest}, or choose another model to summarise.`,
    cause,
  });
}

const withDigest =
  "let the built-in digest do it (the setting `compaction.summarizer.fallback`: always, or `bonsai compact --digest`)";

function causesOf(run: Run, state: LadderState, cause: unknown): string {
  const overhead = overheadAlone(run);
  if (overhead !== undefined) return overhead;
  const { span } = run;
  const failures = state.failures.map(({ rung, message }) => `${rung}: ${message}`);
  const causes = [...failures, ...(cause === undefined ? [] : [messageOf(cause)])];
  if (causes.length > 0) return sentence(`Causes: ${causes.join(" | ")}`);
  return span.justCompacted
    ? "Cause: nothing came after the latest compaction."
    : "Cause: nothing is left that could be summarised, masked or cut.";
}

/** What messages take can be so many times their estimate. */
const LOWEST_ESTIMATE = 4;

/** No compaction makes room for what stands before every message. */
function overheadAlone({
  reason,
  context,
  size: { totalTokens: tokensBefore },
  start,
}: Run): string | undefined {
  const { windowTokens } = context.budgets;
  if (reason !== "overflow" || windowTokens === undefined) return undefined;
  if (tokensBefore - start.tokens * LOWEST_ESTIMATE <= windowTokens) return undefined;
  const overheadTokens = tokensBefore - start.tokens;
  const [overhead, window] = [overheadTokens, windowTokens].map((tokens) => tokens.toLocaleString("en"));
  return `Cause: the system prompt and the tools alone take about ${overhead} tokens, more than the model's window of ${window}.`;
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
