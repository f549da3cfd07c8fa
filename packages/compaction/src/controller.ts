import { BonsaiError, type ContextTokens, isGoodAnswer, type Message } from "@bonsai-agent/messages";
import { budgetsFor, type ModelSizes, type Refusal, thresholdTokens } from "./budget.ts";
import type { CompactionOutcome, CompactionReason } from "./outcome.ts";
import { type RunCompactionOptions, sendableTokens } from "./prepare-run.ts";
import { CONTEXT_TOO_LARGE, type CompactionResult, failureOf, outcomeOf } from "./result.ts";
import { runCompaction } from "./run.ts";
import type { CompactionSettings } from "./settings.ts";
import { readContext, sessionEstimate } from "./tokens.ts";

/** Where a threshold can be looked at. */
export type CompactionSite = CompactionSettings["sites"][number];

export interface ControllerOptions
  extends Pick<
    RunCompactionOptions,
    "session" | "settings" | "summariser" | "digest" | "lifecycle" | "fixedTexts" | "pinned"
  > {
  /** The sizes of the model in use, asked each time. */
  model: () => ModelSizes;
  /** A sub-agent has no threshold; overflow recovery stays. Default false. */
  isSubAgent?: boolean;
  /** Told once when an automatic compaction failed or is paused, so that the task can go on. */
  onWarning?: (error: BonsaiError) => void;
}

interface RunRequest {
  reason: CompactionReason;
  focus?: string | undefined;
  isMidTask?: boolean | undefined;
  refusal?: Refusal | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Decides when a session is compacted. Owner of the lock, the latches and the breaker: one compaction at a
 * time; one try by threshold for each request; one recovery for each user message.
 */
export class CompactionController {
  readonly #options: ControllerOptions;
  readonly #breaker = new CompactionBreaker();
  #running = false;
  #triedForRequest = false;
  /** Why this task gets no further attempt by threshold. */
  #doneForTask: string | undefined;
  #recovered = false;
  /** True once a context was compacted that could not have been sent; until a good answer. */
  #madeSendable = false;
  #warnedPaused = false;
  #latest: CompactionResult | undefined;

  constructor(options: ControllerOptions) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#running;
  }

  /** What the latest compaction that ran did in detail. */
  get latestResult(): CompactionResult | undefined {
    return this.#latest;
  }

  /** A user message begins a new task: every latch is released. */
  userMessageArrived(): void {
    this.#triedForRequest = false;
    this.#doneForTask = undefined;
    this.#recovered = false;
    this.#madeSendable = false;
  }

  /** Another model is in use: what did not help the former may help this one. */
  modelChanged(): void {
    this.#breaker.close();
    this.#warnedPaused = false;
  }

  /** A good answer: the next request may try again, and an overflow may be recovered from again. */
  answerArrived(): void {
    this.#triedForRequest = false;
    this.#recovered = false;
    this.#madeSendable = false;
    this.#breaker.requestAnswered();
  }

  /** Compacts when the context is above the threshold and nothing speaks against it. Never rejects. */
  checkThreshold(at: { site: CompactionSite; signal?: AbortSignal }): Promise<CompactionOutcome> {
    return this.#settled("threshold", () => this.#threshold(at));
  }

  /** Compacts after the provider refused a request as too long, once for each user message. Never rejects. */
  recoverFromOverflow(at: { refusal?: Refusal; signal?: AbortSignal } = {}): Promise<CompactionOutcome> {
    return this.#settled("overflow", () => this.#overflow(at));
  }

  /**
   * Compacts where the next request would be far above the window, so that it is not sent in vain. Skipped: it can be sent
   * as it is, or nobody knows, or the settings want no recovery. Failed: it must not be sent. Never rejects.
   */
  makeSendable(at: { signal?: AbortSignal } = {}): Promise<CompactionOutcome & { error?: BonsaiError }> {
    return this.#settled("overflow", () => this.#sendable(at));
  }

  /** Compacts because somebody said so. Never rejects. */
  compact(
    at: { focus?: string; isMidTask?: boolean; signal?: AbortSignal } = {},
  ): Promise<CompactionOutcome> {
    return this.#settled("manual", () => this.#run({ reason: "manual", ...at }));
  }

  /** A session that cannot be read, or a model that cannot be asked for, is an outcome too. */
  async #settled(
    reason: CompactionReason,
    decide: () => Promise<CompactionOutcome>,
  ): Promise<CompactionOutcome> {
    try {
      return await decide();
    } catch (cause) {
      const error = failureOf(reason, cause);
      this.#failed(reason, error);
      return { status: "failed", reason, detail: error.message, tokensBefore: 0, tokensAfter: 0 };
    }
  }

  async #threshold(at: { site: CompactionSite; signal?: AbortSignal }): Promise<CompactionOutcome> {
    const { settings, isSubAgent = false } = this.#options;
    const context = this.#context();
    if (!settings.enabled || !settings.sites.includes(at.site))
      return skipped("threshold", context, "Threshold compaction is switched off here.");
    if (isSubAgent) return skipped("threshold", context, "A sub-agent has no threshold.");
    const limit = this.#limit();
    if (limit === undefined) return skipped("threshold", context, "The model's window is unknown.");
    if (context.tokens <= limit) {
      this.#breaker.relieved();
      return skipped("threshold", context, "The context is below the threshold.");
    }
    if (this.#tooLargePrompt() !== undefined)
      return skipped("threshold", context, "The latest message alone is above the window.");
    if (this.#doneForTask !== undefined) return skipped("threshold", context, this.#doneForTask);
    if (this.#triedForRequest)
      return skipped("threshold", context, "A compaction was tried for this request already.");
    this.#triedForRequest = true;
    const why = this.#breaker.whyOpen();
    if (why !== undefined) return this.#paused(context, why);
    return this.#run({ reason: "threshold", signal: at.signal });
  }

  async #overflow(at: { refusal?: Refusal; signal?: AbortSignal }): Promise<CompactionOutcome> {
    const context = this.#context();
    if (!this.#options.settings.onOverflow)
      return skipped("overflow", context, "Recovery from an overflow is switched off.");
    if (this.#recovered) {
      const detail = `${CONTEXT_TOO_LARGE} Cause: it overflowed again after it had been compacted for this message.`;
      return { ...skipped("overflow", context, detail), status: "failed" };
    }
    this.#recovered = true;
    // No breaker here: without a recovery the session cannot go on at all, and a good answer lies between two of them.
    return this.#run({ reason: "overflow", ...at });
  }

  async #sendable(at: { signal?: AbortSignal }): Promise<CompactionOutcome & { error?: BonsaiError }> {
    const context = this.#context();
    const mostTokens = this.#sendableTokens();
    if (mostTokens === undefined) return skipped("overflow", context, "The model's window is unknown.");
    if (context.tokens <= mostTokens)
      return skipped("overflow", context, "The context is not far above the window.");
    if (!this.#options.settings.onOverflow)
      return skipped("overflow", context, "Recovery from an overflow is switched off.");
    const error = this.#tooLargePrompt();
    if (error !== undefined)
      return { ...skipped("overflow", context, error.message), status: "failed", error };
    if (this.#madeSendable || this.#recovered) return this.#unsendable(context);
    this.#madeSendable = true;
    const refusal = { inputTokens: context.tokens };
    const outcome = await this.#run({ reason: "overflow", refusal, signal: at.signal });
    const left = this.#context();
    const isDone = outcome.status === "compacted" || outcome.status === "masked";
    return isDone && left.tokens > mostTokens ? this.#unsendable(left) : outcome;
  }

  #unsendable(context: ContextTokens): CompactionOutcome {
    const [tokens, window] = [context.tokens, this.#options.model().contextWindow ?? 0].map((each) =>
      each.toLocaleString("en"),
    );
    const detail = `${CONTEXT_TOO_LARGE} Cause: about ${tokens} tokens are left, far more than the model's window of ${window}.`;
    return { ...skipped("overflow", context, detail), status: "failed" };
  }

  /** The user's own words are not cut behind their back: what is too large by itself is theirs to make smaller. */
  #tooLargePrompt(): BonsaiError | undefined {
    const { session, settings, model } = this.#options;
    const mostTokens = this.#sendableTokens();
    const messages = session.projection().items.map((item) => item.message);
    const prompt = messages.slice(messages.findLastIndex(isGoodAnswer) + 1).findLast(isUser);
    if (mostTokens === undefined || prompt === undefined) return undefined;
    const tokens = sessionEstimate({ session, settings }).estimator.message(prompt);
    if (tokens <= mostTokens) return undefined;
    const [size, window] = [tokens, model().contextWindow ?? 0].map((each) => each.toLocaleString("en"));
    return new BonsaiError({
      code: "prompt_too_large",
      message: `Your message was not sent: it has about ${size} tokens by itself, far more than the model's window of ${window}.`,
      hint: "It is kept in the session. Send less of it, put it into a file that the model can read in parts, or choose a model with a larger window; /tree goes back to before it.",
    });
  }

  #sendableTokens(): number | undefined {
    const { contextWindow } = this.#options.model();
    return contextWindow ? sendableTokens(contextWindow) : undefined;
  }

  async #run({ reason, focus, isMidTask, refusal, signal }: RunRequest): Promise<CompactionOutcome> {
    if (this.#running) return skipped(reason, this.#context(), "Another compaction is running.");
    this.#running = true;
    try {
      const result = await runCompaction({
        ...this.#options,
        model: this.#options.model(),
        reason,
        ...(focus === undefined ? {} : { focus }),
        ...(isMidTask === undefined ? {} : { isMidTask }),
        ...(refusal === undefined ? {} : { refusal }),
        ...(signal === undefined ? {} : { signal }),
        onCommitted: () => {
          this.#running = false;
        },
      });
      this.#record(result, signal?.aborted ?? false);
      return outcomeOf(result);
    } finally {
      this.#running = false;
    }
  }

  #record(result: CompactionResult, isAborted: boolean): void {
    this.#latest = result;
    const { status, reason, error } = result;
    if (error !== undefined) {
      this.#failed(reason, error);
    } else if (status === "cancelled" && isAborted) {
      // An extension that says no speaks of this one; the user means the task.
      this.#doneForTask ??= "A compaction was cancelled in this task.";
    } else if (status === "compacted" || status === "masked") {
      this.#warnedPaused = false;
      if (reason === "manual") this.#breaker.close();
      else this.#breaker.compacted();
    }
  }

  /** A task goes on uncompacted after one warning; what an overflow or the user asked for is an error there. */
  #failed(reason: CompactionReason, error: BonsaiError): void {
    if (reason === "manual") return;
    if (reason === "threshold") this.#breaker.failed();
    if (reason !== "threshold" || this.#doneForTask !== undefined) return;
    this.#doneForTask = "A compaction has failed in this task already.";
    this.#options.onWarning?.(error);
  }

  #paused(context: ContextTokens, why: string): CompactionOutcome {
    const error = this.#pausedError(context, why);
    if (!this.#warnedPaused) this.#options.onWarning?.(error);
    this.#warnedPaused = true;
    return skipped("threshold", context, error.message);
  }

  #pausedError({ tokens, trailingTokens, source }: ContextTokens, why: string): BonsaiError {
    const limit = this.#limit() ?? Number.POSITIVE_INFINITY;
    const overhead = tokens - this.#estimate();
    const cause =
      overhead > limit && (source === "estimate" || trailingTokens < limit)
        ? ` The system prompt and the tools alone take about ${overhead.toLocaleString("en")} tokens, more than the ${limit.toLocaleString("en")} that are allowed.`
        : "";
    return new BonsaiError({
      code: "compaction_paused",
      message: `Automatic compaction is paused: ${why}.${cause}`,
      hint: "Compact by hand (/compact, `bonsai compact`), start afresh, use fewer tools, or choose a model with a larger window.",
    });
  }

  #context(): ContextTokens {
    const { session, settings, fixedTexts } = this.#options;
    const estimate = sessionEstimate({ session, settings, fixedTexts });
    return readContext({
      ...{ session, estimator: estimate.estimator },
      get overheadTokens() {
        return estimate.overheadTokens;
      },
    });
  }

  #estimate(): number {
    const { session, settings } = this.#options;
    const { estimator } = sessionEstimate({ session, settings });
    return session.projection().items.reduce((sum, item) => sum + estimator.message(item.message), 0);
  }

  #limit(): number | undefined {
    const { settings, model } = this.#options;
    return thresholdTokens(settings, budgetsFor({ settings, model: model() }));
  }
}

function isUser({ role }: Message): boolean {
  return role === "user";
}

function skipped(reason: CompactionReason, { tokens }: ContextTokens, detail: string): CompactionOutcome {
  return { status: "skipped", reason, detail, tokensBefore: tokens, tokensAfter: tokens };
}

/** Failures in a row after which automatic compaction pauses. */
const FAILURES = 3;
/** So many compactions within so many requests: the context fills up as fast as it is emptied. */
const COMPACTIONS = 3;
const WITHIN_REQUESTS = 3;

/** Owner of the record that pauses automatic compaction when it does not help. */
class CompactionBreaker {
  #failures = 0;
  #requests = 0;
  /** The request counts at which compactions happened, latest last. */
  #compactedAt: number[] = [];
  /** True from when compactions were seen not to help until something else does. */
  #isOverfull = false;

  requestAnswered(): void {
    this.#requests += 1;
  }

  failed(): void {
    this.#failures += 1;
  }

  compacted(): void {
    this.#failures = 0;
    this.#compactedAt = [...this.#compactedAt, this.#requests].slice(-COMPACTIONS);
  }

  close(): void {
    this.#failures = 0;
    this.#compactedAt = [];
    this.#isOverfull = false;
  }

  /** The context is below the threshold. */
  relieved(): void {
    this.#isOverfull = false;
  }

  /** Why compaction by threshold is paused; undefined while it is not. */
  whyOpen(): string | undefined {
    if (this.#failures >= FAILURES) return `${this.#failures} compactions in a row have failed`;
    this.#isOverfull ||= this.#fillsUpAtOnce();
    if (!this.#isOverfull) return undefined;
    return `${COMPACTIONS} compactions within ${WITHIN_REQUESTS} requests did not keep the context down`;
  }

  #fillsUpAtOnce(): boolean {
    const oldest = this.#compactedAt[0];
    if (this.#compactedAt.length < COMPACTIONS || oldest === undefined) return false;
    return this.#requests - oldest <= WITHIN_REQUESTS;
  }
}
