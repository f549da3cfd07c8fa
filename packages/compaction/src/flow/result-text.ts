import { BonsaiError, messageOf } from "@bonsai-agent/messages";
import { count as digits, tokensText } from "@bonsai-agent/messages/numbers";
import type { CompactionEntry } from "@bonsai-agent/session";
import { type CompactionReason, isModelRung, manifestOf } from "../details.ts";
import type { LadderState, Run } from "../ladder/run.ts";
import { totalAfter } from "../plan/sizes.ts";
import { viewTokens } from "../plan/view.ts";
import { type CompactionStatus, type CompactionSteps, stepsText } from "./outcome.ts";

/** The size of the context before a compaction, with its unit. Undefined if it is damaged. */
export function sizeBeforeText(compaction: CompactionEntry): string | undefined {
  const { tokensBefore } = compaction;
  if (!Number.isFinite(tokensBefore)) return undefined;
  return tokensText(tokensBefore, Number(manifestOf(compaction)?.estimatedTokensBefore) > 0);
}

const DETAILS: Record<Exclude<CompactionStatus, "nothing-to-compact" | "compacted" | "masked">, string> = {
  planned: "Nothing was written.",
  "already-compacted": "Nothing to compact: no message came after the latest compaction.",
  cancelled: "Compaction cancelled.",
  failed: "Compaction failed.",
};

/** Says what a compaction did, or why it did nothing. */
export function detailOf(
  run: Run,
  state: LadderState,
  { status, steps }: { status: CompactionStatus; steps: CompactionSteps },
): string {
  if (status === "nothing-to-compact") return nothingText(run, state);
  if (status !== "compacted" && status !== "masked") return DETAILS[status];
  return [doneText(run, steps, status), ...caveatsOf(run, state)].join(" ");
}

function doneText({ former }: Run, steps: CompactionSteps, status: "compacted" | "masked"): string {
  const done = stepsText(steps);
  if (status === "masked") return `${done.slice(0, 1).toUpperCase()}${done.slice(1)}; no summary was needed.`;
  const again = former === undefined ? "" : " again, from the original entries";
  const isMore = steps.masked + steps.withoutMedia + steps.shortened > 0;
  return `Compacted the context${again}${isMore ? `: ${done}` : ""}.`;
}

/** Tokens that the frame of a summary takes. */
const MIN_SUMMARY_TOKENS = 200;

/** True if keeping less would leave something to summarise. */
export function isAllRecent({ start }: Run, { plan }: LadderState): boolean {
  return plan?.status !== "planned" && start.tokens > MIN_SUMMARY_TOKENS;
}

function nothingText(run: Run, state: LadderState): string {
  const { plan } = state;
  if (isAllRecent(run, state)) return "Nothing to compact: the whole context is recent.";
  if (run.start.view.items.length === 0) return "Nothing to compact: the session has no messages.";
  const replaced =
    plan?.status === "planned" ? viewTokens([...plan.history, ...plan.turnPrefix]) : run.start.tokens;
  return `Nothing to compact: a summary would be larger than the ${tokensText(replaced, true)} that it replaces.`;
}

/** Notes about a compaction beside what it did, a sentence each. */
export function caveatsOf(run: Run, state: LadderState): string[] {
  return [...digestCaveat(run, state), ...economyCaveat(run), ...sizeCaveat(run, state)];
}

/** Why the digest summarised although there is a model. */
function digestCaveat({ skippedModelReason }: Run, { summary, failures }: LadderState): string[] {
  if (summary?.draft.rung !== "digest") return [];
  if (skippedModelReason !== undefined) return [skippedModelReason];
  const failed = failures.findLast(({ rung }) => isModelRung(rung));
  if (failed === undefined) return [];
  return [`Used the built-in digest because the model's summary failed: ${sentence(failed.message)}`];
}

function economyCaveat({ reason, start, goalTokens = 0, thresholdTokens = 0 }: Run): string[] {
  const isEarly = goalTokens < thresholdTokens && start.tokens <= thresholdTokens;
  if (reason !== "threshold" || !isEarly) return [];
  return ["It came before the threshold because of compaction.economy."];
}

function sizeCaveat({ budgets, size }: Run, { tokens }: LadderState): string[] {
  const { windowTokens } = budgets;
  const tokensAfter = totalAfter(size, tokens);
  if (windowTokens === undefined || tokensAfter <= windowTokens) return [];
  return [
    `The context still has ${tokensText(tokensAfter, true)}; the model's window is ${digits(windowTokens)}. Lower compaction.keepRecentTokens, or choose a model with a larger window.`,
  ];
}

/** The start of the error of an overflow that could not be recovered. */
export const CONTEXT_TOO_LARGE = "Context too large. Compaction failed. Use /compact to retry manually.";
export const DIGEST_HINT =
  "use the built-in digest (`/compact digest`, `bonsai compact FILE --digest`, or the setting compaction.summarizer.fallback)";

/**
 * Any thrown value as an error for the user.
 * @param how.hints further ways out
 */
export function errorOf(
  reason: CompactionReason,
  cause: unknown,
  {
    causes = sentence(`Cause: ${messageOf(cause)}`),
    hints = [DIGEST_HINT],
  }: { causes?: string; hints?: string[] } = {},
): BonsaiError {
  if (BonsaiError.is(cause)) return cause;
  if (reason === "overflow") {
    return new BonsaiError({
      /** No compaction made the context small enough after an overflow. */
      code: "context_too_large",
      message: `${CONTEXT_TOO_LARGE} ${causes}`,
      hint: "Run /compact or `bonsai compact FILE`, go back with /tree or `bonsai session goto FILE ENTRY`, start a new session, or choose a model with a larger window.",
      cause,
    });
  }
  return new BonsaiError({
    code: "compaction_failed",
    message: `Compaction failed. ${causes}`,
    hint: `${[reason === "manual" ? "Try again" : "Run /compact or `bonsai compact FILE`", ...hints, "or choose another model"].join(", ")}.`,
    cause,
  });
}

/** The causes of a failed run, from its ladder and the thrown value. */
export function causesOf(run: Run, state: LadderState, cause: unknown): string {
  const overhead = overheadAlone(run);
  if (overhead !== undefined) return overhead;
  const failures = state.failures.map(({ rung, message }) => `${rung}: ${message}`);
  const skipped = run.skippedModelReason === undefined ? [] : [run.skippedModelReason];
  const causes = [...skipped, ...failures, ...(cause === undefined ? [] : [messageOf(cause)])];
  if (causes.length > 0) return sentence(`Causes: ${causes.join(" | ")}`);
  return run.span.justCompacted
    ? "Cause: no message came after the latest compaction."
    : "Cause: nothing is left to summarise, mask or cut.";
}

/** Messages can take this many times their estimate. */
const MAX_UNDERESTIMATE = 4;

/** No compaction shrinks the part of a request before its messages. */
function overheadAlone({ reason, budgets, size, start }: Run): string | undefined {
  const { windowTokens } = budgets;
  if (reason !== "overflow" || windowTokens === undefined) return undefined;
  if (size.totalTokens - start.tokens * MAX_UNDERESTIMATE <= windowTokens) return undefined;
  const overhead = tokensText(size.totalTokens - start.tokens, true);
  return `Cause: the system prompt and the tools alone take ${overhead}; the model's window is ${digits(windowTokens)}.`;
}

/** Ends a message of a server or extension with a full stop, because another sentence follows. */
function sentence(text: string): string {
  return /[.!?。…]$/.test(text) ? text : `${text}.`;
}
