import { BonsaiError } from "@bonsai-agent/messages";
import { isGoodAnswer } from "@bonsai-agent/messages/host";
import { counted, count as digits, tokensText } from "@bonsai-agent/messages/numbers";
import { type CompactionReason, isModelRung } from "../details.ts";
import type { ContextReading } from "../plan/context.ts";
import { type ModelSizes, sendableTokens } from "../plan/limits.ts";
import { SummaryFailure } from "../summariser.ts";
import type { CompactionResult } from "./result.ts";

/** Failures in a row after which automatic compaction pauses. */
const MAX_FAILURES = 3;
/** Automatic compaction pauses if this many compactions happen within this many requests: the context refills at once. */
const CROWDED = { compactions: 3, requests: 3 };
/** After a failure, automatic compactions do not ask the model for this time. */
const FAILED_MODEL_MS = 10 * 60_000;
const MINUTE_MS = 60_000;

const freshTask = () => ({
  /** Why this task gets no further attempt by threshold. */
  refusal: undefined as string | undefined,
  /** The same for attempts that only the economy asks for. */
  economyRefusal: undefined as string | undefined,
});
/** Latches: each allows one attempt for a user message, or until a good answer. */
const freshRequest = () => ({
  isThresholdTried: false,
  isOverflowRecovered: false,
  /** True after a compaction of a context that could not be sent. */
  isFittedBeforeSending: false,
  /** True after a request was sent although its learned size is above the window. */
  isSentAnyway: false,
});

/**
 * Counts compaction attempts per request, task and session, and says why another one is refused. Allows one try by
 * threshold for each request, one recovery for each user message or good answer, no further try in a task after a
 * failure, a pause after several failures, and no request to a model that has just failed.
 */
export class Attempts {
  /** Milliseconds since the epoch. */
  readonly #now: () => number;
  request = freshRequest();
  #task = freshTask();
  #failures = 0;
  #requests = 0;
  /** Request counts at the latest compactions, latest last. */
  #compactedAt: number[] = [];
  /** True from the moment compactions did not help until the context is small again. */
  #isCrowded = false;
  #isPauseReported = false;
  #failedModel: { summariser: string; atMs: number } | undefined;
  /** The summariser whose provider failed to compact, or cannot. */
  #failedProvider: { summariser: string; untilMs: number } | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  userMessageArrived(): void {
    this.request = freshRequest();
    this.#task = freshTask();
  }

  answerArrived(): void {
    this.request = freshRequest();
    this.#requests += 1;
  }

  modelChanged(): void {
    this.#closeBreaker();
    this.#failedModel = undefined;
    this.#failedProvider = undefined;
    this.#isPauseReported = false;
  }

  contextIsSmall(): void {
    this.#isCrowded = false;
  }

  taskRefusal(isNeeded: boolean): string | undefined {
    return this.#task.refusal ?? (isNeeded ? undefined : this.#task.economyRefusal);
  }

  /** Why compaction by threshold is paused. */
  pauseReason(): string | undefined {
    if (this.#failures >= MAX_FAILURES) return `${this.#failures} compactions in a row failed`;
    const { compactions, requests } = CROWDED;
    const oldest = this.#compactedAt.at(-compactions) ?? Number.NEGATIVE_INFINITY;
    this.#isCrowded ||= this.#requests - oldest <= requests;
    if (!this.#isCrowded) return undefined;
    return `${compactions} compactions within ${requests} requests did not keep the context small`;
  }

  /** True once for each pause. */
  reportsPause(): boolean {
    const isFirst = !this.#isPauseReported;
    this.#isPauseReported = true;
    return isFirst;
  }

  /** Why this summariser is not asked, in a sentence for the user. */
  skippedModelReason(summariser: string): string | undefined {
    if (this.#failedModel?.summariser !== summariser) return undefined;
    const elapsedMs = this.#now() - this.#failedModel.atMs;
    // After the clock was set back, the elapsed time is unknown.
    if (elapsedMs < 0 || elapsedMs >= FAILED_MODEL_MS) return undefined;
    const left = counted(Math.ceil((FAILED_MODEL_MS - elapsedMs) / MINUTE_MS), "minute");
    return `The model's summary failed ${ago(elapsedMs)}. Bonsai asks the model again in ${left}, after you run /compact, or after you change the model.`;
  }

  /** True if the provider of this summariser cannot compact, or failed to within the last ten minutes. */
  skipsProvider(summariser: string): boolean {
    if (this.#failedProvider?.summariser !== summariser) return false;
    const { untilMs } = this.#failedProvider;
    return this.#now() < untilMs;
  }

  /** Notes the ending of a compaction that could ask this summariser. */
  modelAsked(result: CompactionResult, summariser: string): void {
    this.#providerAsked(result, summariser);
    if (isModelRung(result.summarisedBy)) this.#failedModel = undefined;
    else if (hasModelFailed(result)) this.#failedModel = { summariser, atMs: this.#now() };
  }

  #providerAsked({ status, summarisedBy, failures }: CompactionResult, summariser: string): void {
    if (summarisedBy === "provider") this.#failedProvider = undefined;
    const cause = failures.find(({ rung }) => rung === "provider")?.cause;
    if (status === "cancelled" || !(cause instanceof SummaryFailure)) return;
    if (cause.kind === "unsupported")
      this.#failedProvider = { summariser, untilMs: Number.POSITIVE_INFINITY };
    else if (cause.kind === "error")
      this.#failedProvider = { summariser, untilMs: this.#now() + FAILED_MODEL_MS };
  }

  compacted(reason: CompactionReason): void {
    this.#isPauseReported = false;
    if (reason === "manual") {
      this.#closeBreaker();
      return;
    }
    this.#failures = 0;
    this.#compactedAt = [...this.#compactedAt, this.#requests].slice(-CROWDED.compactions);
  }

  /** The user cancelled a compaction: refuses all others of the task. */
  cancelled(isNeeded: boolean): void {
    this.#refuseTask("You cancelled a compaction during this task.", isNeeded);
  }

  /**
   * Notes a failure. Only one by threshold counts: after an overflow or `/compact`, the caller has the error.
   * @returns true if the user must be warned: once for each task
   */
  failed(reason: CompactionReason, isNeeded: boolean): boolean {
    if (reason !== "threshold") return false;
    this.#failures += 1;
    if (this.#task.refusal !== undefined) return false;
    this.#refuseTask("A compaction already failed during this task.", isNeeded);
    return true;
  }

  /** A failed attempt to save money does not stop a needed one later. */
  #refuseTask(why: string, isNeeded: boolean): void {
    if (isNeeded) this.#task.refusal ??= why;
    else this.#task.economyRefusal ??= why;
  }

  #closeBreaker(): void {
    this.#failures = 0;
    this.#compactedAt = [];
    this.#isCrowded = false;
  }
}

function ago(elapsedMs: number): string {
  const whole = Math.floor(elapsedMs / MINUTE_MS);
  return whole === 0 ? "less than a minute ago" : `${counted(whole, "minute")} ago`;
}

/**
 * True if the model answered without a usable summary: an error, a refusal, a tool call, half an answer. False after a
 * cancel, without a request, and for a good summary of a span that is too short to shrink.
 */
function hasModelFailed({ status, failures }: CompactionResult): boolean {
  if (status === "cancelled") return false;
  // After one request was too long, only the result of the chunks counts.
  const latest = failures.findLast(({ rung }) => isModelRung(rung));
  if (!(latest?.cause instanceof SummaryFailure)) return false;
  return latest.cause.kind !== "does-not-fit" && latest.cause.kind !== "no-shorter";
}

/** An error if the user's message alone is too large: it is not shortened without asking. */
export function promptTooLarge(
  reading: ContextReading,
  { contextWindow = 0 }: ModelSizes,
): BonsaiError | undefined {
  const maxTokens = sendableTokens(contextWindow);
  const messages = reading.projection.items.map((item) => item.message);
  const unanswered = messages.slice(messages.findLastIndex(isGoodAnswer) + 1);
  const prompt = unanswered.findLast(({ role }) => role === "user");
  if (maxTokens === undefined || prompt === undefined) return undefined;
  const tokens = reading.estimator.message(prompt);
  if (tokens <= maxTokens) return undefined;
  return new BonsaiError({
    code: "prompt_too_large",
    message: `Your message was not sent: it has ${tokensText(tokens, true)}, and the model's window is ${digits(contextWindow)}.`,
    hint: "Go back to before it with /tree, then send less text, or save the text in a file for the model to read in parts. Or choose a model with a larger window.",
  });
}

export function pausedError(reading: ContextReading, limitTokens: number, why: string): BonsaiError {
  const { tokens, trailingTokens, source, projection, estimator } = reading;
  const overhead = projection.items.reduce((left, { message }) => left - estimator.message(message), tokens);
  const cause =
    overhead > limitTokens && (source === "estimate" || trailingTokens < limitTokens)
      ? ` The system prompt and the tools alone take ${tokensText(overhead, true)}; the limit is ${digits(limitTokens)}.`
      : "";
  return new BonsaiError({
    code: "compaction_paused",
    message: `Automatic compaction is paused: ${why}.${cause}`,
    hint: "Run /compact or `bonsai compact FILE`, start a new session, use fewer tools, or choose a model with a larger window.",
  });
}
