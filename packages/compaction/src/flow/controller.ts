import type { BonsaiError } from "@bonsai-agent/messages";
import { count as digits, tokensText } from "@bonsai-agent/messages/numbers";
import type { CompactionReason } from "../details.ts";
import type { CompactionOutcome } from "../events.ts";
import type { ClimbResult } from "../ladder/run.ts";
import { digestStandsIn } from "../ladder/summary-rungs.ts";
import { type ContextReading, plainTokens, readContext } from "../plan/context.ts";
import { type Decision, decide, type ModelSizes, type Refusal, sendableTokens } from "../plan/limits.ts";
import { askedSummariser, type CompactionSettings } from "../settings.ts";
import { Attempts, pausedError, promptTooLarge } from "./attempts.ts";
import { type BackgroundChange, BackgroundCompaction, beginTokens } from "./background.ts";
import {
  type CompactionRequest,
  compact,
  draftAhead,
  isReviewed,
  notifyStart,
  type RunCompactionOptions,
} from "./compaction.ts";
import { CONTEXT_TOO_LARGE, type CompactionResult, errorOf, outcomeOf } from "./result.ts";

/** A moment at which the threshold is checked. */
export type CompactionSite = CompactionSettings["sites"][number];

export interface ControllerOptions
  extends Omit<
    RunCompactionOptions,
    "reason" | "model" | "estimator" | "focus" | "firstKeptEntryId" | "replacesLatest" | "signal"
  > {
  /** The sizes of the model in use. Called for each decision. */
  model: () => ModelSizes;
  /** Milliseconds since the epoch. Default: the clock. */
  now?: () => number;
  /** True for a sub-agent: it has no threshold, but recovers from overflows. Default: false. */
  isSubAgent?: boolean;
  /** Called like the event `background_compaction`. */
  onBackground?: (change: BackgroundChange) => void;
  /** Called once if an automatic compaction failed or is paused; the task continues. */
  onWarning?: (error: BonsaiError) => void;
}

/** A compaction that the user or a program requests. */
export interface ManualCompaction
  extends Pick<CompactionRequest, "focus" | "firstKeptEntryId" | "replacesLatest" | "isMidTask" | "signal"> {
  /** True to use the digest and ask no model, regardless of the settings. Default: false. */
  useDigest?: boolean;
  /** True to ask a model even if it has just failed. Default: true; a program may set it to false. */
  ignoresRecentFailure?: boolean;
}

/**
 * Decides when a session is compacted. Owner of the lock: one compaction at a time. `Attempts` counts what was tried, and
 * `BackgroundCompaction` owns the draft that is made ahead.
 */
export class CompactionController {
  readonly #options: ControllerOptions;
  readonly #attempts: Attempts;
  readonly #background: BackgroundCompaction;
  readonly #now: () => number;
  #isRunning = false;
  /** True from a change of model to its first good answer: its cache does not contain the prefix. */
  #isPrefixNew = false;

  constructor(options: ControllerOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#attempts = new Attempts(this.#now);
    this.#background = new BackgroundCompaction((change) => {
      options.onBackground?.(change);
      const { state, detail } = change;
      const type = "background_compaction" as const;
      void options.lifecycle?.notify(type, { type, state, detail });
    });
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** True while a background draft is being made, or waits to be committed. */
  get isDraftUnderway(): boolean {
    return this.#background.isUnderway;
  }

  /** Cancels and discards the background draft. */
  abandonBackground(why: string): void {
    this.#background.abandon(why);
  }

  /** A user message begins a new task, which allows new attempts. */
  userMessageArrived(): void {
    this.#background.release();
    this.#attempts.userMessageArrived();
  }

  /** Another model may succeed, so earlier failures no longer count. Discards the background draft. */
  modelChanged(): void {
    this.#isPrefixNew = true;
    this.#attempts.modelChanged();
    this.#background.abandon("The model changed.");
  }

  /** After a good answer, the next request may compact, and an overflow may be recovered again. */
  answerArrived(): void {
    this.#isPrefixNew = false;
    this.#attempts.answerArrived();
  }

  /**
   * The size of the context, and the size above which it is compacted. `refusal`: why no automatic compaction would run now.
   * Undefined without a threshold.
   */
  budget(): { tokens: number; limitTokens: number; refusal?: string | undefined } | undefined {
    const { settings, isSubAgent = false } = this.#options;
    if (!settings.enabled || isSubAgent) return undefined;
    const reading = this.#read();
    const { compactAboveTokens: limitTokens } = decisionFor(this.#request({ reason: "threshold" }), reading);
    const refusal = this.#attempts.taskRefusal(false) ?? this.#attempts.pauseReason();
    return limitTokens === undefined ? undefined : { tokens: reading.tokens, limitTokens, refusal };
  }

  /** Compacts if the context is above the threshold and no attempt is refused. Never rejects. */
  checkThreshold(at: { site: CompactionSite; signal?: AbortSignal }): Promise<CompactionOutcome> {
    return this.#settled("threshold", () => this.#threshold(at));
  }

  /** Compacts after the provider refused a request as too long, once for each user message. Never rejects. */
  recoverFromOverflow(at: { refusal?: Refusal; signal?: AbortSignal } = {}): Promise<CompactionOutcome> {
    return this.#settled("overflow", async () => {
      const { request: tried } = this.#attempts;
      if (!this.#options.settings.onOverflow)
        return unchanged("overflow", this.#read(), "compaction.onOverflow is off.");
      if (tried.isOverflowRecovered)
        return tooLarge(this.#read(), "Cause: the request was still too long after a compaction.");
      tried.isOverflowRecovered = true;
      // A pause does not apply: without a recovery the session cannot continue, and a good answer separates two of them.
      return this.#run(this.#request({ reason: "overflow", ...at }));
    });
  }

  /**
   * Compacts if the next request would be far above the window. `skipped`: the request can be sent, its size is
   * unknown, or the settings want no recovery. `failed`: it must not be sent. Never rejects.
   */
  fitBeforeSending({
    signal,
  }: {
    signal?: AbortSignal;
  } = {}): Promise<CompactionOutcome & { error?: BonsaiError }> {
    return this.#settled("overflow", async () => {
      const reading = this.#read();
      const skip = (detail: string) => unchanged("overflow", reading, detail);
      const request = this.#request({ reason: "overflow", refusal: { inputTokens: reading.tokens }, signal });
      const maxTokens = sendableTokens(request.model.contextWindow);
      if (maxTokens === undefined) return skip("The model's context window is unknown.");
      if (reading.tokens <= maxTokens) return skip("The context fits the window.");
      if (!request.settings.onOverflow) return skip("compaction.onOverflow is off.");
      const error = promptTooLarge(reading, request.model);
      if (error !== undefined) return { ...skip(error.message), status: "failed" as const, error };
      const { request: tried } = this.#attempts;
      if (tried.isFittedBeforeSending || tried.isOverflowRecovered)
        return this.#sendsAnyway() ? skip(SENT_ANYWAY) : stillTooLarge(reading, request.model);
      tried.isFittedBeforeSending = true;
      const outcome = await this.#run(request);
      const { status } = outcome;
      const left = this.#read();
      const isDone = status === "compacted" || status === "masked";
      if (status !== "failed" && !(isDone && left.tokens > maxTokens)) return outcome;
      if (this.#sendsAnyway()) return { ...outcome, status: "skipped" as const, detail: SENT_ANYWAY };
      return isDone ? stillTooLarge(left, request.model) : outcome;
    });
  }

  /** Compacts at a request of the user or a program. Never rejects. */
  compact({
    useDigest,
    ignoresRecentFailure = true,
    ...at
  }: ManualCompaction = {}): Promise<CompactionOutcome> {
    return this.#settled("manual", () => {
      const request = this.#request({ reason: "manual", ...at });
      if (useDigest) return this.#run({ ...request, summariser: undefined });
      return this.#run(ignoresRecentFailure ? request : this.#withoutFailedModel(request));
    });
  }

  /** Turns any exception into a failed outcome. */
  async #settled(
    reason: CompactionReason,
    decided: () => Promise<CompactionOutcome>,
  ): Promise<CompactionOutcome> {
    try {
      return await decided();
    } catch (cause) {
      const error = errorOf(reason, cause);
      if (this.#attempts.failed(reason, true)) this.#options.onWarning?.(error);
      const sizes = { tokensBefore: 0, estimatedTokensBefore: 0, tokensAfter: 0 };
      return { status: "failed", reason, detail: error.message, ...sizes };
    }
  }

  async #threshold({ site, signal }: { site: CompactionSite; signal?: AbortSignal }) {
    const { settings, isSubAgent = false } = this.#options;
    const reading = this.#read();
    const skip = (detail: string) => unchanged("threshold", reading, detail);
    if (!settings.enabled || !settings.sites.includes(site)) return skip("Automatic compaction is off.");
    if (isSubAgent) return skip("Sub-agents do not compact automatically.");
    const nowMs = this.#isPrefixNew ? Number.POSITIVE_INFINITY : this.#now();
    const request = this.#request({ reason: "threshold", signal, nowMs });
    const decision = decisionFor(request, reading);
    const { compactAboveTokens, thresholdTokens } = decision;
    if (compactAboveTokens === undefined || thresholdTokens === undefined)
      return skip("The model's context window is unknown.");
    const isUrgent = reading.tokens > thresholdTokens;
    if (!isUrgent) this.#attempts.contextIsSmall();
    if (this.#background.isReady && !this.#isRunning) {
      const outcome = await this.#commitReady(request);
      if (outcome !== undefined) return outcome;
    }
    if (reading.tokens <= compactAboveTokens) {
      this.#considerBackground(request, decision);
      return skip("The context is below the threshold.");
    }
    if (promptTooLarge(reading, request.model) !== undefined)
      return skip("The latest message alone exceeds the model's window.");
    const refusal = this.#attempts.taskRefusal(isUrgent);
    if (refusal !== undefined) return skip(refusal);
    const canWait = !isUrgent && !decision.isExpired;
    if (canWait && this.#considerBackground(request, decision))
      return skip("A summary is being made in the background.");
    if (this.#attempts.request.isThresholdTried)
      return skip("A compaction was already tried before this request.");
    this.#attempts.request.isThresholdTried = true;
    const pause = this.#attempts.pauseReason();
    if (pause === undefined) return this.#run(request, isUrgent);
    if (!isUrgent) return skip(pause);
    const error = pausedError(reading, thresholdTokens, pause);
    if (this.#attempts.reportsPause()) this.#options.onWarning?.(error);
    return skip(error.message);
  }

  /** Once for each user message, a context is sent that is too large only by its learned size, which may be wrong. */
  #sendsAnyway(): boolean {
    const { session, fixedTexts } = this.#options;
    const model = this.#options.model();
    const maxTokens = sendableTokens(model.declaredWindow ?? model.contextWindow) ?? Number.POSITIVE_INFINITY;
    if (this.#attempts.request.isSentAnyway || plainTokens({ session, fixedTexts, model }) > maxTokens)
      return false;
    this.#attempts.request.isSentAnyway = true;
    return true;
  }

  /** Uses the options of the moment: settings and model can change between decisions. */
  #request(
    asked: Omit<CompactionRequest, keyof ControllerOptions>,
  ): CompactionRequest & { model: ModelSizes } {
    const summariser = askedSummariser(this.#options);
    return { ...this.#options, summariser, model: this.#options.model(), ...asked };
  }

  #read(): ContextReading {
    const { session, settings, fixedTexts } = this.#options;
    return readContext({ session, fixedTexts, model: this.#options.model(), estimator: settings.estimator });
  }

  /** @param wasNeeded false if only the economy asks for the compaction. */
  async #run(request: CompactionRequest, wasNeeded = true): Promise<CompactionOutcome> {
    const { reason = "manual" } = request;
    // Read before the wait: the user can choose another model meanwhile.
    const model = request.summariser?.name;
    if (this.#isRunning) return unchanged(reason, this.#read(), "Another compaction is running.");
    this.#isRunning = true;
    try {
      const startNotified = this.#background.isUnderway && !this.#background.isReady;
      // Shows why the agent is waiting.
      if (startNotified) await notifyStart(reason, request.lifecycle);
      const earlier = await this.#earlierDraft(request);
      if (earlier !== undefined) {
        const result = await this.#compactOnce({ ...request, earlier, startNotified }, wasNeeded);
        if (result.status !== "compacted" || this.#isEnough(request)) return outcomeOf(result);
      }
      const result = await this.#compactOnce(
        {
          ...(reason === "manual" ? request : this.#withoutFailedModel(request)),
          startNotified: startNotified && earlier === undefined,
          onCommitted: () => {
            this.#isRunning = false;
          },
        },
        wasNeeded,
      );
      if (model !== undefined) this.#attempts.modelAsked(result, model);
      return outcomeOf(result);
    } finally {
      this.#isRunning = false;
    }
  }

  /** True if the context as it is now needs no further compaction for this reason. */
  #isEnough(request: CompactionRequest): boolean {
    if (request.reason !== "overflow") return true;
    const reading = this.#read();
    const { compactAboveTokens = Number.POSITIVE_INFINITY } = decisionFor(request, reading);
    return reading.tokens <= compactAboveTokens;
  }

  /** Commits the ready background draft. Undefined if it is outdated. */
  async #commitReady(request: CompactionRequest): Promise<CompactionOutcome | undefined> {
    this.#isRunning = true;
    try {
      const earlier = await this.#earlierDraft(request);
      return earlier && outcomeOf(await this.#compactOnce({ ...request, earlier }, false));
    } finally {
      this.#isRunning = false;
    }
  }

  /** The background draft, if the request has its goal: no focus, cut or other summariser of its own. */
  async #earlierDraft(request: CompactionRequest): Promise<ClimbResult | undefined> {
    const { focus, firstKeptEntryId, replacesLatest, summariser, signal, pinned } = request;
    const isSameGoal = focus === undefined && firstKeptEntryId === undefined && !replacesLatest;
    if (!isSameGoal || summariser === undefined)
      this.#background.abandon("Another compaction was requested.");
    return this.#background.take(signal, pinned);
  }

  async #compactOnce(request: CompactionRequest, wasNeeded: boolean): Promise<CompactionResult> {
    const result = await compact(request);
    const { status, reason, error, isDeclined = false } = result;
    if (request.earlier !== undefined) this.#background.committed(request.earlier, result);
    if (error !== undefined && this.#attempts.failed(reason, wasNeeded)) this.#options.onWarning?.(error);
    // A cancel by an extension stops only this compaction.
    if (status === "cancelled" && (request.signal?.aborted || isDeclined))
      this.#attempts.cancelled(wasNeeded);
    if (status === "compacted" || status === "masked") this.#attempts.compacted(reason);
    return result;
  }

  /** Begins a background draft if a compaction is due soon and none is refused. Returns true if one is under way. */
  #considerBackground(request: CompactionRequest, decision: Decision): boolean {
    const { settings, review } = request;
    const { summariser, skipsProvider } = this.#withoutFailedModel(request);
    const isRefused =
      this.#attempts.taskRefusal(true) !== undefined || this.#attempts.pauseReason() !== undefined;
    if (this.#isRunning || isRefused || summariser === undefined) return false;
    const isWanted = settings.background && !(review !== undefined && isReviewed(settings, "threshold"));
    const begin = isWanted && this.#background.isFree ? beginTokens(decision) : undefined;
    if (begin !== undefined)
      this.#background.begin(
        (signal) => draftAhead({ ...request, skipsProvider, beginTokens: begin, signal }),
        (result) => this.#attempts.modelAsked(result, summariser.name),
      );
    return this.#background.isUnderway;
  }

  /** Leaves out a model that has just failed, if the digest can replace it. */
  #withoutFailedModel(request: CompactionRequest): CompactionRequest {
    const { reason = "manual", settings, summariser } = request;
    if (summariser === undefined) return request;
    const skipsProvider = this.#attempts.skipsProvider(summariser.name);
    const skippedModelReason = digestStandsIn(settings, reason)
      ? this.#attempts.skippedModelReason(summariser.name)
      : undefined;
    if (skippedModelReason === undefined) return { ...request, skipsProvider };
    return { ...request, summariser: undefined, skippedModelReason };
  }
}

function decisionFor(request: CompactionRequest, reading: ContextReading): Decision {
  const { reason = "manual", settings, model, summariser, refusal, nowMs } = request;
  const isModelAsked = summariser !== undefined;
  return decide(reading, { reason, settings, model, isModelAsked, refusal, nowMs });
}

function unchanged(reason: CompactionReason, reading: ContextReading, detail: string): CompactionOutcome {
  const { tokens, trailingTokens } = reading;
  const sizes = { tokensBefore: tokens, estimatedTokensBefore: trailingTokens, tokensAfter: tokens };
  return { status: "skipped", reason, detail, ...sizes };
}

function tooLarge(reading: ContextReading, cause: string): CompactionOutcome {
  return { ...unchanged("overflow", reading, `${CONTEXT_TOO_LARGE} ${cause}`), status: "failed" };
}

function stillTooLarge(reading: ContextReading, { contextWindow = 0 }: ModelSizes): CompactionOutcome {
  const left = tokensText(reading.tokens, true);
  const window = digits(contextWindow);
  return tooLarge(reading, `Cause: the context still has ${left}. The model's window is ${window}.`);
}

const SENT_ANYWAY =
  "Only sizes that were learned from earlier answers speak against the request. It is sent once.";
