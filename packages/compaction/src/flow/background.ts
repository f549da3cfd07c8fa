import { manifestOf } from "../details.ts";
import type { BackgroundState } from "../events.ts";
import type { ClimbResult } from "../ladder/run.ts";
import { maskRung } from "../ladder/rungs.ts";
import type { Decision } from "../plan/decision.ts";
import { planSpan } from "../plan/plan.ts";
import { isReviewed } from "../settings.ts";
import { draftCompaction, isClimbed } from "./compaction.ts";
import { type CompactionRequest, isCurrent, prepareRun } from "./prepare.ts";
import { type CompactionResult, failedResult } from "./result.ts";

/** The draft begins at this share of the way from the size after the latest compaction to the threshold. */
const BEGIN_SHARE = 0.8;

/** A change of the draft that is made while the agent works. */
export interface BackgroundChange {
  state: BackgroundState;
  /** One sentence for the user; empty if the state says all. */
  detail: string;
  /** Requests to a model that were wasted. */
  lostRequests: number;
}

/** Counts since the session was opened. */
export interface BackgroundCounts {
  isUnderway: boolean;
  committed: number;
  /** Good drafts that were outdated before they were due. */
  discarded: number;
  failed: number;
  /** Known cost of discarded and failed drafts, in US dollars. */
  lostUsd: number;
}

interface Underway {
  abort: AbortController;
  done: Promise<ClimbResult | CompactionResult>;
  /** Undefined until the draft is finished. */
  made?: ClimbResult | CompactionResult;
}

/**
 * Makes the draft of a snapshot while the agent works. The controller commits it when a compaction is due, and keeps
 * everything that came since. Owner of the draft.
 */
export class BackgroundCompaction {
  readonly #onChange: (change: BackgroundChange) => void;
  readonly #counted = { committed: 0, discarded: 0, failed: 0, lostUsd: 0 };
  #underway: Underway | undefined;
  /** One attempt for each task, unless it was committed: the same obstacle would stop another one. */
  #isSpent = false;

  constructor(onChange: (change: BackgroundChange) => void) {
    this.#onChange = onChange;
  }

  get counts(): BackgroundCounts {
    return { ...this.#counted, isUnderway: this.#underway !== undefined };
  }

  get isReady(): boolean {
    return this.#underway?.made !== undefined;
  }

  /** A new task allows another attempt. */
  release(): void {
    this.#isSpent = false;
  }

  /**
   * Begins a draft if a compaction is due soon, a model would summarise, and masks would not suffice.
   * @param onFailed called with the result if the model's summary failed
   */
  consider(
    request: CompactionRequest,
    decision: Decision,
    onFailed: (result: CompactionResult) => void,
  ): void {
    if (this.#underway !== undefined || this.#isSpent) return;
    const { settings, summariser, review } = request;
    if (!settings.background || summariser === undefined) return;
    if (review !== undefined && isReviewed(settings, "threshold")) return;
    const goal = goalSoon(decision);
    if (goal === undefined) return;
    const abort = new AbortController();
    const asked = { ...request, decision: goal, signal: abort.signal, isBackground: true, review: undefined };
    if (!wouldSummarise(asked)) return;
    const underway: Underway = { abort, done: draftCompaction(asked) };
    this.#underway = underway;
    this.#isSpent = true;
    this.#notify("begun");
    void underway.done.then((made) => {
      underway.made = made;
      if (this.#underway !== underway) this.#count(made);
      else if (hasSummary(made)) this.#notify("ready");
      else this.#endFailed(made, onFailed);
    });
  }

  /**
   * Waits for the draft, and returns it if it is still current. Undefined if there is none, if it failed, or if the
   * request has another goal.
   */
  async take(request: CompactionRequest): Promise<ClimbResult | undefined> {
    const underway = this.#underway;
    if (underway === undefined) return undefined;
    if (!isSameGoal(request)) {
      this.abandon("Another compaction was requested.");
      return undefined;
    }
    const { signal } = request;
    const stop = () => underway.abort.abort(signal?.reason);
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted) stop();
    const made = await underway.done.finally(() => signal?.removeEventListener("abort", stop));
    // A failed draft has ended by itself.
    if (this.#underway !== underway || !hasSummary(made)) return undefined;
    this.#underway = undefined;
    if (!signal?.aborted && isCurrent(made, request)) return made;
    this.#discard(made);
    return undefined;
  }

  /** Notes the ending of a compaction with the draft that `take` gave. */
  committed(draft: ClimbResult, { status }: CompactionResult): void {
    if (status === "cancelled") this.#discard(draft);
    if (status !== "compacted") return;
    this.#counted.committed += 1;
    this.#isSpent = false;
    this.#notify("committed");
  }

  /** Cancels and discards the draft. */
  abandon(why: string): void {
    const underway = this.#underway;
    if (underway === undefined) return;
    this.#underway = undefined;
    underway.abort.abort(new Error(why));
    if (underway.made !== undefined) this.#count(underway.made);
    this.#notify("discarded", why, 1);
  }

  #discard(draft: ClimbResult): void {
    this.#count(draft);
    this.#notify(
      "discarded",
      "The session moved to another branch in the meantime.",
      draft.run.cost.requests,
    );
  }

  #endFailed(made: ClimbResult | CompactionResult, onFailed: (result: CompactionResult) => void): void {
    this.#underway = undefined;
    this.#count(made);
    const result = isClimbed(made) ? failedResult(made.run, made.state) : made;
    onFailed(result);
    this.#notify(result.status === "failed" ? "failed" : "discarded", result.detail, result.requests);
  }

  #count(made: ClimbResult | CompactionResult): void {
    const isFailed = isClimbed(made) ? !hasSummary(made) : made.status === "failed";
    this.#counted[isFailed ? "failed" : "discarded"] += 1;
    if (!isClimbed(made)) {
      this.#counted.lostUsd += made.costUsd ?? 0;
      return;
    }
    const { session, summariser, cost } = made.run;
    this.#counted.lostUsd += cost.usage?.cost.total ?? 0;
    // The cost of the session includes discarded drafts.
    const [provider = "", model = ""] = /^([^/]*)\/(.*)$/s.exec(summariser?.name ?? "")?.slice(1) ?? [];
    if (cost.usage !== undefined)
      session.append({ type: "usage", kind: "background_summary", provider, model, usage: cost.usage });
  }

  #notify(state: BackgroundState, detail = "", lostRequests = 0): void {
    this.#onChange({ state, detail, lostRequests });
  }
}

/** The decision with the size at which a draft begins as its limit. Undefined if no compaction is due soon. */
function goalSoon(decision: Decision): Decision | undefined {
  const { compactAboveTokens, thresholdTokens = compactAboveTokens, reading } = decision;
  if (compactAboveTokens === undefined || thresholdTokens === undefined) return undefined;
  // Before a working size, a draft has no advantage: it only makes compactions more frequent and dearer.
  const leftTokens = Number(manifestOf(reading.projection.compaction)?.tokensAfter) || 0;
  const wayTokens = Math.max(0, thresholdTokens - leftTokens);
  const soonTokens = Math.floor(thresholdTokens - wayTokens * (1 - BEGIN_SHARE));
  const beginTokens = Math.min(compactAboveTokens, soonTokens);
  return reading.tokens > beginTokens ? { ...decision, compactAboveTokens: beginTokens } : undefined;
}

/** False if masks would suffice, which take no time, and if there is nothing to summarise. */
function wouldSummarise(request: CompactionRequest): boolean {
  try {
    const run = prepareRun(request);
    if (maskRung.applies(run.start, run)) return false;
    return planSpan({ ...run.span, view: run.start.view }).status === "planned";
  } catch {
    // The compaction that is due later fails with the same error and reports it.
    return false;
  }
}

function hasSummary(made: ClimbResult | CompactionResult): made is ClimbResult {
  return isClimbed(made) && made.state.summary !== undefined;
}

/** True for a request without a focus, a cut or another summariser of its own. */
function isSameGoal({ focus, firstKeptEntryId, isAgain, summariser }: CompactionRequest): boolean {
  return focus === undefined && firstKeptEntryId === undefined && !isAgain && summariser !== undefined;
}
