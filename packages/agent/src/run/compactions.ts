import type { CompactionOutcome, ManualCompaction } from "@bonsai-agent/compaction";
import type { CompactionSite } from "@bonsai-agent/compaction/host";
import { BonsaiError } from "@bonsai-agent/messages";
import { MESSAGE_TYPES, sleep } from "@bonsai-agent/messages/host";
import type { AgentParts } from "./agent-parts.ts";
import { contextUsage } from "./agent-state.ts";
import { type Answer, modelFailed } from "./answer.ts";

/**
 * Result of fitting or recovering a request. `retry`: the context is smaller now, send it again. `modelChanged`: it was too
 * long for a model that is no longer in use. `cancelled`: the user cancelled the compaction, but not the run.
 */
export type Recovery =
  | { status: "retry" | "cancelled" | "aborted"; error?: undefined }
  | { status: "modelChanged" | "failed"; error: BonsaiError };

/** Time between a recovery and the retry: the interface redraws, the server rests. */
const RETRY_DELAY_MS = 100;
const NOT_BEGUN = "The user stopped the agent before the compaction began.";

/** A compaction that a user or an extension requested. */
interface Requested extends PromiseWithResolvers<CompactionOutcome> {
  wanted: ManualCompaction;
}

/** Runs the compactions of one agent, automatic and requested, and decides how the run continues after each. */
export class RunCompactions {
  readonly #parts: AgentParts;
  #cancel: AbortController | undefined;
  /** A request that waits for the run's next place for a compaction. */
  #waiting: Requested | undefined;
  #running: Pick<Requested, "wanted" | "promise"> | undefined;

  constructor(parts: AgentParts) {
    this.#parts = parts;
  }

  get isRunning(): boolean {
    return this.#parts.controller.isRunning;
  }

  /** Cancels the current compaction, and nothing else. */
  cancel(): void {
    this.#cancel?.abort(new Error("The user cancelled the compaction."));
  }

  /** Compacts above the threshold. Returns `wait` if the run must end because of `afterThreshold`. */
  async threshold(site: CompactionSite, signal: AbortSignal): Promise<"goOn" | "wait"> {
    const { controller, settings, session } = this.#parts;
    const { outcome } = await this.#cancellable(signal, (own) =>
      controller.checkThreshold({ site, signal: own }),
    );
    const { afterThreshold } = settings.compaction;
    if (outcome.status !== "compacted" || site !== "betweenTools" || signal.aborted) return "goOn";
    if (afterThreshold === "continueMessage")
      session.append({
        type: "custom_message",
        customType: MESSAGE_TYPES.continue,
        content: "Continue the task where you left off.",
        display: false,
      });
    return afterThreshold === "wait" ? "wait" : "goOn";
  }

  /** Compacts now. Never rejects. */
  async manual(wanted: ManualCompaction, signal: AbortSignal): Promise<CompactionOutcome> {
    const { controller } = this.#parts;
    const done = this.#cancellable(signal, (own) => controller.compact({ ...wanted, signal: own }));
    const running = { wanted, promise: done.then(({ outcome }) => outcome) };
    this.#running = running;
    try {
      return await running.promise;
    } finally {
      if (this.#running === running) this.#running = undefined;
    }
  }

  /**
   * Requests a compaction at the next possible place. A request beside another one gets its outcome. A request for the
   * digest does not wait for a model: it cancels a running compaction, and turns a waiting one into a digest.
   */
  request(wanted: ManualCompaction): Promise<CompactionOutcome> {
    const other = this.#waiting ?? this.#running;
    if (other !== undefined && (other.wanted.useDigest || !wanted.useDigest)) return other.promise;
    // A threshold compaction continues.
    if (this.#waiting === undefined && this.#running !== undefined) this.cancel();
    const joined = this.#waiting && { ...this.#waiting.wanted, useDigest: true };
    this.#waiting = { ...(this.#waiting ?? Promise.withResolvers()), wanted: joined ?? wanted };
    return this.#waiting.promise;
  }

  get hasRequest(): boolean {
    return this.#waiting !== undefined;
  }

  /** Runs the requested compaction, if there is one. Never rejects. */
  async runRequested(signal: AbortSignal, { isMidTask } = { isMidTask: false }): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(await this.manual({ ...waiting.wanted, isMidTask }, signal));
  }

  /** Cancels the requested compaction, because the user stopped the work. */
  cancelRequested(): void {
    if (this.#waiting === undefined) return;
    const { tokens, estimatedTokens } = contextUsage(this.#parts);
    this.#waiting.resolve({
      status: "cancelled",
      reason: "manual",
      detail: `Compaction cancelled. ${NOT_BEGUN}`,
      cancelReason: NOT_BEGUN,
      tokensBefore: tokens,
      estimatedTokensBefore: estimatedTokens,
      tokensAfter: tokens,
    });
    this.#waiting = undefined;
  }

  /** Compacts a context that is far above the window. Returns undefined if the request can be sent. */
  async fitBeforeSending(signal: AbortSignal): Promise<Recovery | undefined> {
    const { controller, events } = this.#parts;
    // An extension changes the messages, so their size is not known here.
    if (events.hasHandlers("context")) return undefined;
    const { outcome, stop } = await this.#cancellable(signal, (own) =>
      controller.fitBeforeSending({ signal: own }),
    );
    if (stop !== undefined) return stop;
    if (outcome.status !== "failed" && outcome.status !== "cancelled") return undefined;
    return { status: "failed", error: outcome.error ?? tooLarge(outcome, "The request was not sent.") };
  }

  /** Compacts after an overflow, so that the request can be sent again. */
  async recover(answer: Answer, signal: AbortSignal): Promise<Recovery> {
    const { failure, message } = answer;
    const failed = { status: "failed", error: modelFailed(answer) } as const;
    if (failure?.kind !== "inputTooLong") return failed;
    const { controller, selection } = this.#parts;
    const { provider, id } = selection.model;
    if (provider !== message.provider || id !== message.model) {
      this.#hideFailedAnswer(answer);
      return { ...failed, status: "modelChanged" };
    }
    if (failure.isGuessed)
      this.#parts.onNotice({
        level: "info",
        code: "overflow_presumed",
        message: `The provider refused the request without a clear reason. Bonsai assumes that the request was too long and tries one compaction. The provider's message: ${failure.message}`,
      });
    const refusal = { inputTokens: failure.inputTokens };
    const { outcome, stop } = await this.#cancellable(signal, (own) =>
      controller.recoverFromOverflow({ refusal, signal: own }),
    );
    if (stop !== undefined) return stop;
    if (outcome.status === "skipped") return failed;
    const isFailed = outcome.status === "failed" || outcome.status === "cancelled";
    // A minimal context is sent again once: one refusal may be an error of the server.
    if (isFailed && !outcome.isAtMinimum) {
      // The provider did not mention the context: report its own words.
      if (failure.isGuessed) return failed;
      return { status: "failed", error: tooLarge(outcome, `The provider's message: ${failure.message}`) };
    }
    this.#hideFailedAnswer(answer);
    await sleep(RETRY_DELAY_MS, signal);
    return signal.aborted ? { status: "aborted" } : { status: "retry" };
  }

  /** Removes the failed answer from the context; it stays in the tree. */
  #hideFailedAnswer({ entryId }: Answer): void {
    const { session } = this.#parts;
    const isInView = session.projection().items.some((item) => item.entryId === entryId);
    if (isInView) session.append({ type: "context_edit", targetId: entryId, replacement: null });
  }

  /** Runs a compaction that `cancel` ends alone. `stop`: the user cancelled it, or stopped all work. */
  async #cancellable<Outcome extends CompactionOutcome>(
    signal: AbortSignal,
    compact: (signal: AbortSignal) => Promise<Outcome>,
  ): Promise<{ outcome: Outcome; stop: Recovery | undefined }> {
    const cancel = new AbortController();
    this.#cancel = cancel;
    try {
      const outcome = await compact(AbortSignal.any([signal, cancel.signal]));
      // A skipped one can leave a background summary under way.
      if (outcome.status !== "skipped") this.#parts.session.store.drafts?.clear();
      if (signal.aborted) return { outcome, stop: { status: "aborted" } };
      const isCancelled =
        outcome.status === "cancelled" && (cancel.signal.aborted || outcome.isDeclined === true);
      return { outcome, stop: isCancelled ? { status: "cancelled" } : undefined };
    } finally {
      if (this.#cancel === cancel) this.#cancel = undefined;
    }
  }
}

function tooLarge({ detail }: CompactionOutcome, more: string): BonsaiError {
  return new BonsaiError({
    /** The request is too long and compaction could not help. */
    code: "context_overflow",
    message: `${detail} ${more}`,
    hint: "Compact (/compact, `bonsai compact`), go back (/tree, `bonsai session goto`), start a new session, or choose a model with a larger window.",
  });
}
