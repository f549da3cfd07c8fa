import { manifestOf } from "../details.ts";
import type { BackgroundState } from "../events.ts";
import { type ClimbResult, CompactionCancelled, climb, type Run } from "../ladder/ladder.ts";
import { ladderRungs, masksFor } from "../ladder/rungs.ts";
import type { Decision } from "../plan/limits.ts";
import { planSpan } from "../plan/plan.ts";
import { type CompactionRequest, isCurrent, prepareRun } from "./compaction.ts";
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

/** A finished draft. */
interface MadeDraft extends ClimbResult {
  /** Set if there is no summary. */
  failure?: CompactionResult;
}

interface Underway {
  abort: AbortController;
  done: Promise<MadeDraft>;
  /** Undefined until the draft is finished. */
  made?: MadeDraft;
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

  /** True if a draft may begin. */
  get isFree(): boolean {
    return this.#underway === undefined && !this.#isSpent;
  }

  /** A new task allows another attempt. */
  release(): void {
    this.#isSpent = false;
  }

  /**
   * Begins a draft, unless masks would suffice or there is nothing to summarise.
   * @param onFailed called with the result if the model's summary failed
   */
  begin(request: CompactionRequest, onFailed: (result: CompactionResult) => void): void {
    const abort = new AbortController();
    const run = summarisingRun({ ...request, signal: abort.signal, isBackground: true });
    if (run === undefined) return;
    const underway: Underway = { abort, done: madeBy(run) };
    this.#underway = underway;
    this.#isSpent = true;
    this.#notify("begun");
    void underway.done.then((made) => {
      underway.made = made;
      if (this.#underway !== underway) return this.#count(made);
      if (made.failure === undefined) return this.#notify("ready");
      this.#underway = undefined;
      this.#count(made);
      onFailed(made.failure);
      const { status, detail, requests } = made.failure;
      this.#notify(status === "failed" ? "failed" : "discarded", detail, requests);
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
    const { signal, pinned } = request;
    const stop = () => underway.abort.abort(signal?.reason);
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted) stop();
    const made = await underway.done.finally(() => signal?.removeEventListener("abort", stop));
    // A failed draft has ended by itself.
    if (this.#underway !== underway || made.failure !== undefined) return undefined;
    this.#underway = undefined;
    if (!signal?.aborted && isCurrent(made, pinned)) return made;
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

  #count({ run, failure }: MadeDraft): void {
    const { session, summariser, cost } = run;
    const usd = cost.usage?.cost.total ?? 0;
    this.#counted[failure?.status === "failed" ? "failed" : "discarded"] += 1;
    this.#counted.lostUsd += usd;
    // The cost of the session includes discarded drafts.
    const [provider = "", model = ""] = /^([^/]*)\/(.*)$/s.exec(summariser?.name ?? "")?.slice(1) ?? [];
    if (cost.usage !== undefined && failure?.status !== "cancelled")
      session.append({ type: "usage", kind: "background_summary", provider, model, usage: cost.usage });
  }

  #notify(state: BackgroundState, detail = "", lostRequests = 0): void {
    this.#onChange({ state, detail, lostRequests });
  }
}

/** The size at which a draft begins. Undefined if no compaction is due soon. */
export function beginTokens(decision: Decision): number | undefined {
  const { compactAboveTokens, thresholdTokens = compactAboveTokens, reading } = decision;
  if (compactAboveTokens === undefined || thresholdTokens === undefined) return undefined;
  // Before a working size, a draft has no advantage: it only makes compactions more frequent and dearer.
  const leftTokens = Number(manifestOf(reading.projection.compaction)?.tokensAfter) || 0;
  const wayTokens = Math.max(0, thresholdTokens - leftTokens);
  const soonTokens = Math.floor(thresholdTokens - wayTokens * (1 - BEGIN_SHARE));
  const begin = Math.min(compactAboveTokens, soonTokens);
  return reading.tokens > begin ? begin : undefined;
}

/** The run of a draft. Undefined if masks would suffice, which take no time, and if there is nothing to summarise. */
function summarisingRun(request: CompactionRequest): Run | undefined {
  try {
    const run = prepareRun(request);
    const { view } = run.start;
    const isNeeded =
      masksFor(run.start, run).length === 0 && planSpan({ ...run.span, view }).status === "planned";
    return isNeeded ? run : undefined;
  } catch {
    // The compaction that is due later fails with the same error and reports it.
    return undefined;
  }
}

async function madeBy(run: Run): Promise<MadeDraft> {
  try {
    const state = await climb(run, ladderRungs);
    if (run.signal.aborted) throw new CompactionCancelled("");
    return { run, state, ...(state.summary === undefined && { failure: failedResult(run, state) }) };
  } catch (error) {
    return { run, state: run.start, failure: failedResult(run, run.start, error) };
  }
}

/** True for a request without a focus, a cut or another summariser of its own. */
function isSameGoal({ focus, firstKeptEntryId, replacesLatest, summariser }: CompactionRequest): boolean {
  return focus === undefined && firstKeptEntryId === undefined && !replacesLatest && summariser !== undefined;
}
