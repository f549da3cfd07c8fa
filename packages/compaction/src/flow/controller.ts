import { BonsaiError, isGoodAnswer, tokensText } from "@bonsai-agent/messages";
import { count as digits } from "@bonsai-agent/messages/numbers";
import type { CompactionReason } from "../carry/details.ts";
import type { Refusal } from "../ladder/refusal.ts";
import { type ModelSizes, sendableTokens } from "../plan/budget.ts";
import { type ContextReading, plainTokens, readContext } from "../plan/tokens.ts";
import { type CompactionSettings, digestStandsIn } from "../settings.ts";
import { type BackgroundChange, BackgroundCompaction, type BackgroundCounts } from "./background.ts";
import { CompactionBreaker } from "./breaker.ts";
import { FailedSummary } from "./failed-summary.ts";
import type { CompactionOutcome } from "./outcome.ts";
import {
  type CompactionRequest,
  type Decision,
  decisionOf,
  type RunCompactionOptions,
} from "./prepare-run.ts";
import { CONTEXT_TOO_LARGE, type CompactionResult, failureOf, outcomeOf } from "./result.ts";
import { carryOut, tellBeginning } from "./run.ts";

/** Where a threshold can be looked at. */
export type CompactionSite = CompactionSettings["sites"][number];

export interface ControllerOptions
  extends Pick<
    RunCompactionOptions,
    "session" | "settings" | "summariser" | "digest" | "lifecycle" | "fixedTexts" | "pinned" | "review"
  > {
  /** The sizes of the model in use, asked each time. */
  model: () => ModelSizes;
  /** Milliseconds since the epoch. Default: the clock. */
  now?: () => number;
  /** A sub-agent has no threshold; overflow recovery stays. Default false. */
  isSubAgent?: boolean;
  /** Called with what becomes of a summary that is made while the agent works, as `background_compaction` tells it. */
  onBackground?: (change: BackgroundChange) => void;
  /** Called once when an automatic compaction failed or is paused, so that the task can go on. */
  onWarning?: (error: BonsaiError) => void;
}

/** A compaction that somebody asked for. */
export interface ManualCompaction {
  /** What the summary should dwell on. */
  focus?: string;
  /** The digest summarises, and no model is asked, whatever the settings say. Default false. */
  useDigest?: boolean;
  /** A model is asked also where it has just failed: a person says so, a program need not. Default true. */
  asksAgain?: boolean;
  /** The cut: with this entry the kept part begins; others than those of `cutPlaces` are refused. Default: as the budgets say. */
  firstKeptEntryId?: string;
  /** The latest compaction is made anew from the originals, not from its summary. Default false. */
  isAgain?: boolean;
  /** True while a task goes on: as much is kept as by threshold. Default false. */
  isMidTask?: boolean;
  /** Cancels it. Default: nothing does. */
  signal?: AbortSignal;
}

/**
 * Decides when a session is compacted. Owner of the lock, the latches, the breaker and the memory of a summary that
 * failed: one compaction at a time; one try by threshold for each request; one recovery for each user message; one
 * failure of a model until it is asked again.
 */
export class CompactionController {
  readonly #options: ControllerOptions;
  readonly #breaker = new CompactionBreaker();
  readonly #failedSummary: FailedSummary;
  readonly #background: BackgroundCompaction;
  readonly #now: () => number;
  #running = false;
  #triedForRequest = false;
  /** Why this task gets no further attempt by threshold. */
  #doneForTask: string | undefined;
  /** Why this task gets no further attempt until the context is above the threshold itself. */
  #economyDone: string | undefined;
  #recovered = false;
  /** True once a context was compacted that could not have been sent; until a good answer. */
  #madeSendable = false;
  /** True once a context was sent although its learned size is above the window; until a good answer. */
  #sentAnyway = false;
  #warnedPaused = false;
  /** True from a change of model to its first good answer: nothing of the prefix is in a cache of its. */
  #isPrefixNew = false;

  constructor(options: ControllerOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#failedSummary = new FailedSummary(this.#now);
    this.#background = new BackgroundCompaction((change) => {
      options.onBackground?.(change);
      const { state, detail } = change;
      void options.lifecycle?.notify("background_compaction", {
        type: "background_compaction",
        state,
        detail,
      });
    });
  }

  get isRunning(): boolean {
    return this.#running;
  }

  /** What was made while the agent worked, so far; and whether something is being made. */
  get background(): BackgroundCounts {
    return this.#background.counts;
  }

  /** Ends what is made while the agent works, and throws it away: the session is closed, or another way is taken. */
  abandonBackground(why: string): void {
    this.#background.abandon(why);
  }

  /** A user message begins a new task: every latch is released. */
  userMessageArrived(): void {
    this.#background.release();
    this.#triedForRequest = false;
    this.#doneForTask = undefined;
    this.#economyDone = undefined;
    this.#recovered = false;
    this.#madeSendable = false;
    this.#sentAnyway = false;
  }

  /** Another model is in use: what did not help the former may help this one. */
  modelChanged(): void {
    this.#isPrefixNew = true;
    this.#breaker.close();
    this.#failedSummary.forget();
    this.#background.abandon("The model changed.");
    this.#warnedPaused = false;
  }

  /** A good answer: the next request may try again, and an overflow may be recovered from again. */
  answerArrived(): void {
    this.#isPrefixNew = false;
    this.#triedForRequest = false;
    this.#recovered = false;
    this.#madeSendable = false;
    this.#sentAnyway = false;
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

  /** Compacts because somebody asked for it. Never rejects. */
  compact({ useDigest, asksAgain = true, ...at }: ManualCompaction = {}): Promise<CompactionOutcome> {
    return this.#settled("manual", () => {
      const request = this.#request({ reason: "manual", ...at });
      if (useDigest) return this.#run({ ...request, summariser: undefined });
      return this.#run(asksAgain ? request : this.#sparingFailed(request));
    });
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
      return { status: "failed", reason, detail: error.message, ...noTokens };
    }
  }

  async #threshold({
    site,
    signal,
  }: {
    site: CompactionSite;
    signal?: AbortSignal;
  }): Promise<CompactionOutcome> {
    const reading = readContext(this.#options);
    const skip = (detail: string) => skipped("threshold", reading, detail);
    const { settings, isSubAgent = false } = this.#options;
    if (!settings.enabled || !settings.sites.includes(site)) return skip("Automatic compaction is off.");
    if (isSubAgent) return skip("Sub-agents do not compact automatically.");
    const nowMs = this.#isPrefixNew ? Number.POSITIVE_INFINITY : this.#now();
    const request = this.#request({ reason: "threshold", signal, nowMs });
    const decision = decisionOf(request, reading);
    const { limitTokens, neededTokens } = decision;
    if (limitTokens === undefined || neededTokens === undefined)
      return skip("The model's context window is unknown.");
    const isUrgent = isNeeded(decision);
    if (!isUrgent) this.#breaker.relieved();
    if (this.#background.isReady && !this.#running) {
      const outcome = await this.#committed(request);
      if (outcome !== undefined) return outcome;
    }
    if (reading.tokens <= limitTokens) {
      this.#beginInBackground(request, decision);
      return skip("The context is below the threshold.");
    }
    if (tooLargePrompt(reading, request.model) !== undefined)
      return skip("The latest message alone exceeds the model's window.");
    const done = this.#doneForTask ?? (isUrgent ? undefined : this.#economyDone);
    if (done !== undefined) return skip(done);
    const canWorkOn = !isUrgent && !decision.isExpired;
    if (canWorkOn && this.#beginInBackground(request, decision))
      return skip("A summary is being made in the background.");
    if (this.#triedForRequest) return skip("A compaction was already tried before this request.");
    this.#triedForRequest = true;
    const why = this.#breaker.whyOpen();
    if (why !== undefined) return skip(isUrgent ? this.#paused(reading, neededTokens, why) : why);
    return this.#run(request, decision);
  }

  async #overflow(at: { refusal?: Refusal; signal?: AbortSignal }): Promise<CompactionOutcome> {
    const reading = readContext(this.#options);
    if (!this.#options.settings.onOverflow)
      return skipped("overflow", reading, "compaction.onOverflow is off.");
    if (this.#recovered) return failed(reading, "Cause: the request was still too long after a compaction.");
    this.#recovered = true;
    // No breaker here: without a recovery the session cannot go on at all, and a good answer lies between two of them.
    const request = this.#request({ reason: "overflow", ...at });
    return this.#run(request, decisionOf(request, reading));
  }

  async #sendable({
    signal,
  }: {
    signal?: AbortSignal;
  }): Promise<CompactionOutcome & { error?: BonsaiError }> {
    const reading = readContext(this.#options);
    const skip = (detail: string) => skipped("overflow", reading, detail);
    const request = this.#request({ reason: "overflow", refusal: { inputTokens: reading.tokens }, signal });
    const mostTokens = sendableTokens(request.model.contextWindow);
    if (mostTokens === undefined) return skip("The model's context window is unknown.");
    if (reading.tokens <= mostTokens) return skip("The context fits the window.");
    if (!request.settings.onOverflow) return skip("compaction.onOverflow is off.");
    const error = tooLargePrompt(reading, request.model);
    if (error !== undefined) return { ...skip(error.message), status: "failed", error };
    if (this.#madeSendable || this.#recovered)
      return this.#sendsAnyway() ? skip(SENT_ANYWAY) : unsendable(reading, request.model);
    this.#madeSendable = true;
    const outcome = await this.#run(request, decisionOf(request, reading));
    const { status } = outcome;
    const left = readContext(this.#options);
    const isDone = status === "compacted" || status === "masked";
    if (status !== "failed" && !(isDone && left.tokens > mostTokens)) return outcome;
    if (this.#sendsAnyway()) return { ...outcome, status: "skipped", detail: SENT_ANYWAY };
    return isDone ? unsendable(left, request.model) : outcome;
  }

  /** Once for each user message, a context is sent that only a learned size holds back: what was learned may be wrong. */
  #sendsAnyway(): boolean {
    const { contextWindow, declaredWindow = contextWindow } = this.#options.model();
    const mostTokens = sendableTokens(declaredWindow) ?? Number.POSITIVE_INFINITY;
    if (this.#sentAnyway || plainTokens(this.#options) > mostTokens) return false;
    this.#sentAnyway = true;
    return true;
  }

  /** With the options as they are now: settings and model can change from one decision to the next. */
  #request(
    asked: Omit<CompactionRequest, keyof ControllerOptions>,
  ): CompactionRequest & { model: ModelSizes } {
    return { ...this.#options, model: this.#options.model(), ...asked };
  }

  async #run(request: CompactionRequest, decision?: Decision): Promise<CompactionOutcome> {
    const { reason = "manual", signal } = request;
    if (this.#running)
      return skipped(reason, decision?.reading ?? readContext(request), "Another compaction is running.");
    this.#running = true;
    try {
      // Who waits sees what for.
      const isTold = this.#background.counts.isUnderway && !this.#background.isReady;
      if (isTold) await tellBeginning(request);
      const taken = await this.#background.takenOver({ ...request, isTold });
      if (taken !== undefined) {
        const outcome = this.#noted(taken, {
          isAborted: signal?.aborted ?? false,
          isNeeded: isNeeded(decision),
        });
        if (taken.status !== "compacted" || suffices(request)) return outcome;
      }
      // Who it is now: a model can be chosen while this one is waited for.
      const summariser = request.summariser?.name;
      const result = await carryOut({
        ...(reason === "manual" ? request : this.#sparingFailed(request)),
        decision: taken === undefined ? decision : undefined,
        isTold: isTold && taken === undefined,
        onCommitted: () => {
          this.#running = false;
        },
      });
      this.#record(result, { isAborted: signal?.aborted ?? false, isNeeded: isNeeded(decision) });
      if (summariser !== undefined) this.#failedSummary.note(result, summariser);
      return outcomeOf(result);
    } finally {
      this.#running = false;
    }
  }

  /** Writes what was made while the agent worked; undefined where it holds no longer. */
  async #committed(request: CompactionRequest): Promise<CompactionOutcome | undefined> {
    this.#running = true;
    try {
      const result = await this.#background.takenOver(request);
      return result && this.#noted(result, { isAborted: false, isNeeded: false });
    } finally {
      this.#running = false;
    }
  }

  #noted(result: CompactionResult, how: { isAborted: boolean; isNeeded: boolean }): CompactionOutcome {
    this.#record(result, how);
    return outcomeOf(result);
  }

  /** Where nothing speaks against a compaction that is soon needed. @returns true where one is under way */
  #beginInBackground(request: CompactionRequest, decision: Decision): boolean {
    if (this.#running || this.#doneForTask !== undefined || this.#breaker.whyOpen() !== undefined)
      return false;
    const { summariser } = this.#sparingFailed(request);
    if (summariser === undefined) return false;
    this.#background.consider({ ...request, signal: undefined, decision, onCommitted: undefined }, (result) =>
      this.#failedSummary.note(result, summariser.name),
    );
    return this.#background.counts.isUnderway;
  }

  /** Without a model that has just failed, where the digest would stand in for it. */
  #sparingFailed(request: CompactionRequest): CompactionRequest {
    const { reason = "manual", settings, summariser } = request;
    if (summariser === undefined || !digestStandsIn(settings, reason)) return request;
    const whyUnasked = this.#failedSummary.whyUnasked(summariser.name);
    return whyUnasked === undefined ? request : { ...request, summariser: undefined, whyUnasked };
  }

  #record(
    result: CompactionResult,
    { isAborted, isNeeded }: { isAborted: boolean; isNeeded: boolean },
  ): void {
    const { status, reason, error, isDeclined = false } = result;
    if (error !== undefined) {
      this.#failed(reason, error, isNeeded);
    } else if (status === "cancelled" && (isAborted || isDeclined)) {
      // An extension cancels this one; the user means all of the task.
      this.#latch("You cancelled a compaction during this task.", isNeeded);
    } else if (status === "compacted" || status === "masked") {
      this.#warnedPaused = false;
      if (reason === "manual") this.#breaker.close();
      else this.#breaker.compacted();
    }
  }

  /** A task goes on uncompacted after one warning; what an overflow or the user asked for is an error there. */
  #failed(reason: CompactionReason, error: BonsaiError, isNeeded = true): void {
    if (reason === "manual") return;
    if (reason === "threshold") this.#breaker.failed();
    if (reason !== "threshold" || this.#doneForTask !== undefined) return;
    this.#latch("A compaction already failed during this task.", isNeeded);
    this.#options.onWarning?.(error);
  }

  /** What was tried to save money says nothing of what is needed later. */
  #latch(why: string, isNeeded: boolean): void {
    if (isNeeded) this.#doneForTask ??= why;
    else this.#economyDone ??= why;
  }

  /** Warns once. @returns why nothing is compacted */
  #paused(reading: ContextReading, limitTokens: number, why: string): string {
    const error = pausedError(reading, limitTokens, why);
    if (!this.#warnedPaused) this.#options.onWarning?.(error);
    this.#warnedPaused = true;
    return error.message;
  }
}

/** True where the context, as it is now, needs no further compaction for this reason. */
function suffices(request: CompactionRequest): boolean {
  const { reading, limitTokens = Number.POSITIVE_INFINITY } = decisionOf({ ...request, decision: undefined });
  return request.reason !== "overflow" || reading.tokens <= limitTokens;
}

/** False where only the economy speaks for a compaction. */
function isNeeded({ neededTokens, reading }: Partial<Decision> = {}): boolean {
  return neededTokens === undefined || reading === undefined || reading.tokens > neededTokens;
}

const noTokens = { tokensBefore: 0, estimatedTokensBefore: 0, tokensAfter: 0 };

function skipped(reason: CompactionReason, reading: ContextReading, detail: string): CompactionOutcome {
  const { tokens, trailingTokens } = reading;
  const sizes = { tokensBefore: tokens, estimatedTokensBefore: trailingTokens, tokensAfter: tokens };
  return { status: "skipped", reason, detail, ...sizes };
}

function failed(reading: ContextReading, cause: string): CompactionOutcome {
  return { ...skipped("overflow", reading, `${CONTEXT_TOO_LARGE} ${cause}`), status: "failed" };
}

const SENT_ANYWAY =
  "Only sizes that were learned from earlier answers speak against the request. It is sent once.";

function unsendable(reading: ContextReading, { contextWindow = 0 }: ModelSizes): CompactionOutcome {
  const left = tokensText(reading.tokens, true);
  return failed(
    reading,
    `Cause: the context still has ${left}. The model's window is ${digits(contextWindow)}.`,
  );
}

/** The user's own words are not cut without asking: what is too large by itself is theirs to make smaller. */
function tooLargePrompt(reading: ContextReading, { contextWindow = 0 }: ModelSizes): BonsaiError | undefined {
  const mostTokens = sendableTokens(contextWindow);
  const messages = reading.projection.items.map((item) => item.message);
  const unanswered = messages.slice(messages.findLastIndex(isGoodAnswer) + 1);
  const prompt = unanswered.findLast(({ role }) => role === "user");
  if (mostTokens === undefined || prompt === undefined) return undefined;
  const tokens = reading.estimator.message(prompt);
  if (tokens <= mostTokens) return undefined;
  return new BonsaiError({
    code: "prompt_too_large",
    message: `Your message was not sent: it has ${tokensText(tokens, true)}, and the model's window is ${digits(contextWindow)}.`,
    hint: "Go back to before it with /tree, then send less text, or save the text in a file for the model to read in parts. Or choose a model with a larger window.",
  });
}

function pausedError(reading: ContextReading, limitTokens: number, why: string): BonsaiError {
  const { tokens, trailingTokens, source, projection, estimator } = reading;
  const estimated = projection.items.reduce((sum, { message }) => sum + estimator.message(message), 0);
  const overhead = tokens - estimated;
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
