import type { CompactionOutcome, CompactionSite, ManualCompaction } from "@bonsai-agent/compaction";
import { BonsaiError } from "@bonsai-agent/messages";
import { CONTINUE_CUSTOM_TYPE } from "@bonsai-agent/messages/frames";
import type { AgentParts } from "../agent-parts.ts";
import { contextUsage } from "../agent-state.ts";
import type { AgentNotice } from "../notice.ts";
import { withLinkedSignal } from "./activity.ts";
import { type Answer, modelFailed } from "./answer.ts";

/**
 * What became of a request that failed, or was too large to be made. `retry`: the context is smaller now, ask again.
 * `otherModel`: it was too long for a model that is not in use any more, and the one that is may take it. `cancelled`:
 * the user cancelled the compaction, nothing else.
 */
export type Recovery =
  | { status: "retry" | "cancelled" | "aborted"; error?: undefined }
  | { status: "otherModel" | "failed"; error: BonsaiError };

/** Between a recovery and the retry: the interface redraws, the server breathes. */
const RETRY_DELAY_MS = 100;

/** What was asked for and has not begun; several that ask become one. */
interface Asked {
  foci: Set<string>;
  /** One of them did not want to wait for a model. */
  useDigest: boolean;
  firstKeptEntryId?: string | undefined;
  /** One of them wanted the latest compaction made anew. */
  isAgain: boolean;
  /** One of them was a person, who wants a model that has just failed asked again. */
  asksAgain: boolean;
  outcome: PromiseWithResolvers<CompactionOutcome>;
}

/**
 * When a compaction happens, by itself or because somebody asked, and what it means for the run. Owner of the signal that
 * cancels one alone, and of what was asked for.
 */
export class CompactionTriggers {
  readonly #parts: AgentParts;
  #cancel: AbortController | undefined;
  #asked: Asked | undefined;
  #underway: { asked: ManualCompaction; outcome: Promise<CompactionOutcome> } | undefined;

  constructor(parts: AgentParts) {
    this.#parts = parts;
  }

  get isRunning(): boolean {
    return this.#parts.controller.isRunning;
  }

  /** Cancels the compaction that is under way, and nothing else. */
  cancel(): void {
    this.#cancel?.abort(new Error("The user cancelled the compaction."));
  }

  /** `wait` when the run must end because the settings say so. */
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
        customType: CONTINUE_CUSTOM_TYPE,
        content: "Continue the task where you left off.",
        display: false,
      });
    return afterThreshold === "wait" ? "wait" : "goOn";
  }

  /** Compacts because somebody said so. Never rejects. */
  async manual(asked: ManualCompaction, signal: AbortSignal): Promise<CompactionOutcome> {
    const { controller } = this.#parts;
    const done = this.#cancellable(signal, (own) => controller.compact({ ...asked, signal: own }));
    const outcome = done.then((each) => each.outcome);
    this.#underway = { asked, outcome };
    try {
      return await outcome;
    } finally {
      this.#underway = undefined;
    }
  }

  /**
   * Waits for its place; but one that wants nothing else has the outcome of the one that is being carried out, and the
   * digest does not wait for a model that somebody had asked before: that compaction is cancelled.
   */
  ask(wanted: ManualCompaction): Promise<CompactionOutcome> {
    const { focus, useDigest = false, asksAgain = true, firstKeptEntryId, isAgain = false } = wanted;
    const underway = this.#underway;
    const isSame =
      (focus === undefined || focus === underway?.asked.focus) &&
      isAgain === (underway?.asked.isAgain ?? false) &&
      (firstKeptEntryId === undefined || firstKeptEntryId === underway?.asked.firstKeptEntryId) &&
      (!useDigest || underway?.asked.useDigest === true);
    if (underway !== undefined && isSame) return underway.outcome;
    if (underway !== undefined && useDigest && !underway.asked.useDigest) this.cancel();
    this.#asked ??= {
      foci: new Set(),
      useDigest: false,
      asksAgain: false,
      isAgain: false,
      outcome: Promise.withResolvers(),
    };
    if (focus !== undefined) this.#asked.foci.add(focus);
    this.#asked.useDigest ||= useDigest;
    this.#asked.asksAgain ||= asksAgain;
    this.#asked.isAgain ||= isAgain;
    this.#asked.firstKeptEntryId = firstKeptEntryId ?? this.#asked.firstKeptEntryId;
    return this.#asked.outcome.promise;
  }

  get isAsked(): boolean {
    return this.#asked !== undefined;
  }

  /** Does what was asked for, if anything was. Never rejects. */
  async carryOutAsked(signal: AbortSignal, { isMidTask } = { isMidTask: false }): Promise<void> {
    const asked = this.#asked;
    if (asked === undefined) return;
    this.#asked = undefined;
    const { foci, useDigest, asksAgain, firstKeptEntryId, isAgain } = asked;
    const given = {
      ...(foci.size > 0 && { focus: [...foci].join("\n") }),
      ...(firstKeptEntryId !== undefined && { firstKeptEntryId }),
    };
    asked.outcome.resolve(await this.manual({ ...given, useDigest, asksAgain, isAgain, isMidTask }, signal));
  }

  /** The user stopped the work: what has not begun does not begin. */
  dropAsked(): void {
    const asked = this.#asked;
    if (asked === undefined) return;
    this.#asked = undefined;
    const { tokens, estimatedTokens } = contextUsage(this.#parts);
    asked.outcome.resolve({
      status: "cancelled",
      reason: "manual",
      detail: "Compaction cancelled. The user stopped the agent before the compaction began.",
      tokensBefore: tokens,
      estimatedTokensBefore: estimatedTokens,
      tokensAfter: tokens,
    });
  }

  /** Brings a context down that is far above the window; undefined where the request can be sent. */
  async makeSendable(signal: AbortSignal): Promise<Recovery | undefined> {
    const { controller, events } = this.#parts;
    // What is sent then is an extension's to say, and its size is not known here.
    if (events.hasHandlers("context")) return undefined;
    const { outcome, stop } = await this.#cancellable(signal, (own) =>
      controller.makeSendable({ signal: own }),
    );
    if (stop !== undefined) return stop;
    if (outcome.status !== "failed" && outcome.status !== "cancelled") return undefined;
    return { status: "failed", error: outcome.error ?? tooLarge(outcome, "The request was not sent.") };
  }

  /** Brings the context down after an overflow, so that the request can be repeated. */
  async recover(answer: Answer, signal: AbortSignal): Promise<Recovery> {
    const { failure, message } = answer;
    const failed = { status: "failed", error: modelFailed(answer) } as const;
    if (failure?.kind !== "inputTooLong") return failed;
    const { controller, selection } = this.#parts;
    const isCurrent = selection.model.provider === message.provider && selection.model.id === message.model;
    if (!isCurrent) {
      this.#forget(answer);
      return { ...failed, status: "otherModel" };
    }
    if (failure.presumed) this.#parts.onNotice(presumedOverflow(failure.message));
    const refusal = { inputTokens: failure.inputTokens };
    const { outcome, stop } = await this.#cancellable(signal, (own) =>
      controller.recoverFromOverflow({ refusal, signal: own }),
    );
    if (stop !== undefined) return stop;
    if (outcome.status === "skipped") return failed;
    const isFailed = outcome.status === "failed" || outcome.status === "cancelled";
    // A context that is as small as it can be is sent again once: one refusal may be an error of the server.
    if (isFailed && !outcome.isAtMinimum) {
      // The provider did not speak of the context: its own words are the error.
      if (failure.presumed) return failed;
      return { status: "failed", error: tooLarge(outcome, `The provider's message: ${failure.message}`) };
    }
    this.#forget(answer);
    await delay(RETRY_DELAY_MS, signal);
    return signal.aborted ? { status: "aborted" } : { status: "retry" };
  }

  /** The failed answer leaves the context; it stays in the tree. */
  #forget({ entryId }: Answer): void {
    const { session } = this.#parts;
    const isInView = session.projection().items.some((item) => item.entryId === entryId);
    if (isInView) session.append({ type: "context_edit", targetId: entryId, replacement: null });
  }

  /** What comes of a compaction that `cancel` ends alone. `stop`: the user ended it, or all of the work. */
  #cancellable<Outcome extends CompactionOutcome>(
    signal: AbortSignal,
    compact: (signal: AbortSignal) => Promise<Outcome>,
  ): Promise<{ outcome: Outcome; stop: Recovery | undefined }> {
    return withLinkedSignal(signal, async (own) => {
      this.#cancel = own;
      try {
        const outcome = await compact(own.signal);
        if (signal.aborted) return { outcome, stop: { status: "aborted" } };
        const isCancelled =
          outcome.status === "cancelled" && (own.signal.aborted || outcome.isDeclined === true);
        return { outcome, stop: isCancelled ? { status: "cancelled" } : undefined };
      } finally {
        if (this.#cancel === own) this.#cancel = undefined;
      }
    });
  }
}

function presumedOverflow(refusal: string): AgentNotice {
  return {
    level: "info",
    code: "overflow_presumed",
    message: `The provider refused the request without a clear reason. Bonsai assumes that the request was too long and tries one compaction. The provider's message: ${refusal}`,
  };
}

function tooLarge({ detail }: CompactionOutcome, more: string): BonsaiError {
  return new BonsaiError({
    /** The request is too long and compaction could not help. */
    code: "context_overflow",
    message: `${detail} ${more}`,
    hint: "Compact (/compact, `bonsai compact`), go back (/tree, `bonsai session goto`), start a new session, or choose a model with a larger window.",
  });
}

function delay(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const stop = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      resolve();
    };
    const timer = setTimeout(stop, ms);
    signal.addEventListener("abort", stop, { once: true });
  });
}
