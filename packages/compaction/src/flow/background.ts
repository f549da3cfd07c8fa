import { manifestOf } from "../details.ts";
import type { BackgroundState } from "../events.ts";
import type { ClimbResult } from "../ladder/run.ts";
import type { Decision } from "../plan/limits.ts";
import { type DraftAhead, isCurrent } from "./compaction.ts";
import type { CompactionResult } from "./result.ts";

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

interface Underway {
  abort: AbortController;
  done: Promise<DraftAhead>;
  made?: DraftAhead;
}

/**
 * Keeps the draft of a snapshot that is made while the agent works. The controller commits it when a compaction is due,
 * and keeps everything that came since. Owner of the draft.
 */
export class BackgroundCompaction {
  readonly #onChange: (change: BackgroundChange) => void;
  #underway: Underway | undefined;
  /** One attempt for each task, unless it was committed: the same obstacle would stop another one. */
  #isSpent = false;

  constructor(onChange: (change: BackgroundChange) => void) {
    this.#onChange = onChange;
  }

  get isUnderway(): boolean {
    return this.#underway !== undefined;
  }

  get isReady(): boolean {
    return this.#underway?.made !== undefined;
  }

  get isFree(): boolean {
    return !this.isUnderway && !this.#isSpent;
  }

  /** A new task allows another attempt. */
  release(): void {
    this.#isSpent = false;
  }

  /**
   * Begins a draft.
   * @param draft returns undefined if none is needed
   * @param onFailed called with the result if the model's summary failed
   */
  begin(
    draft: (signal: AbortSignal) => Promise<DraftAhead> | undefined,
    onFailed: (result: CompactionResult) => void,
  ): void {
    const abort = new AbortController();
    const done = draft(abort.signal);
    if (done === undefined) return;
    const underway: Underway = { abort, done };
    this.#underway = underway;
    this.#isSpent = true;
    this.#notify("begun");
    void done.then((made) => {
      underway.made = made;
      if (this.#underway !== underway) return recordCost(made);
      if (made.failure === undefined) return this.#notify("ready");
      this.#underway = undefined;
      recordCost(made);
      onFailed(made.failure);
      const { status, detail, requests } = made.failure;
      this.#notify(status === "failed" ? "failed" : "discarded", detail, requests);
    });
  }

  /** Waits for the draft, and returns it if it is still current. Undefined if there is none, or if it failed. */
  async take(signal: AbortSignal | undefined, pinned?: readonly string[]): Promise<ClimbResult | undefined> {
    const underway = this.#underway;
    if (underway === undefined) return undefined;
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
    this.#isSpent = false;
    this.#notify("committed");
  }

  abandon(why: string): void {
    const underway = this.#underway;
    if (underway === undefined) return;
    this.#underway = undefined;
    underway.abort.abort(new Error(why));
    if (underway.made !== undefined) recordCost(underway.made);
    this.#notify("discarded", why, 1);
  }

  #discard(draft: ClimbResult): void {
    recordCost(draft);
    const { requests } = draft.run.cost;
    this.#notify("discarded", "The session moved to another branch in the meantime.", requests);
  }

  #notify(state: BackgroundState, detail = "", lostRequests = 0): void {
    this.#onChange({ state, detail, lostRequests });
  }
}

/** Writes the cost of a discarded draft, which is part of the session's cost. */
function recordCost({ run, failure }: DraftAhead): void {
  const { session, summariser, cost } = run;
  if (cost.usage === undefined || failure?.status === "cancelled") return;
  const [provider = "", model = ""] = /^([^/]*)\/(.*)$/s.exec(summariser?.name ?? "")?.slice(1) ?? [];
  try {
    session.append({ type: "usage", kind: "background_summary", provider, model, usage: cost.usage });
  } catch {
    // On a full disk, the next message meets the same error, and its run reports it.
  }
}

/** The size at which a draft begins. Undefined if no compaction is due soon. */
export function beginTokens(decision: Decision): number | undefined {
  const { compactAboveTokens, thresholdTokens = compactAboveTokens, reading } = decision;
  if (compactAboveTokens === undefined || thresholdTokens === undefined) return undefined;
  // Before a working size, a draft has no advantage: it only makes compactions more frequent and dearer.
  const leftTokens = manifestOf(reading.projection.compaction)?.tokensAfter ?? 0;
  const wayTokens = Math.max(0, thresholdTokens - leftTokens);
  const soonTokens = Math.floor(thresholdTokens - wayTokens * (1 - BEGIN_SHARE));
  const begin = Math.min(compactAboveTokens, soonTokens);
  return reading.tokens > begin ? begin : undefined;
}
