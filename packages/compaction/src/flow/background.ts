import { manifestOf } from "../carry/details.ts";
import { pinnedTexts } from "../carry/pins.ts";
import type { BackgroundState } from "../events.ts";
import { usageOf } from "../ladder/ladder.ts";
import { maskRung } from "../ladder/rungs.ts";
import { planSpan } from "../plan/plan.ts";
import { readContext } from "../plan/tokens.ts";
import { contextSizeOf, roleTraits, type ViewItem, viewTokens } from "../plan/view.ts";
import { isReviewed } from "../settings.ts";
import { type CompactionRequest, type Decision, decisionOf, prepareRun } from "./prepare-run.ts";
import { type CompactionResult, failedResult } from "./result.ts";
import type { Reached } from "./review.ts";
import { carryOutDrafted, drafted, isDraft } from "./run.ts";

/** At this share of the way from what the latest compaction left to the threshold, the summary is begun. */
const BEGIN_SHARE = 0.8;

/** What became of a summary that is made while the agent works on. */
export interface BackgroundChange {
  state: BackgroundState;
  /** One sentence for people; empty where the state says all. */
  detail: string;
  /** Requests to a model that were made in vain. */
  lostRequests: number;
}

/** Since the session was opened. */
export interface BackgroundCounts {
  isUnderway: boolean;
  committed: number;
  /** Sound, and thrown away for something else had happened meanwhile. */
  discarded: number;
  failed: number;
  /** US dollars of what was thrown away or failed, as far as they are known. */
  lostUsd: number;
}

/** One that is under way, or ready. */
interface Underway {
  request: CompactionRequest;
  abort: AbortController;
  draft: Promise<Reached | CompactionResult>;
  /** What came of it; undefined until then. */
  made?: Reached | CompactionResult;
  /** Called with the result of one that failed. */
  onFailed: (result: CompactionResult) => void;
}

/**
 * Makes the summary of a snapshot while the agent works on, and writes it where the snapshot still stands: with everything
 * that was said since kept whole. Owner of the one that is under way.
 */
export class BackgroundCompaction {
  readonly #onChange: ((change: BackgroundChange) => void) | undefined;
  readonly #counted = { committed: 0, discarded: 0, failed: 0, lostUsd: 0 };
  #underway: Underway | undefined;
  /** One attempt for each task, unless it was written: what spoke against it once does so again. */
  #isSpent = false;

  constructor(onChange?: (change: BackgroundChange) => void) {
    this.#onChange = onChange;
  }

  get counts(): BackgroundCounts {
    return { ...this.#counted, isUnderway: this.#underway !== undefined };
  }

  get isReady(): boolean {
    return this.#underway?.made !== undefined;
  }

  /** A new task begins: there may be another attempt. */
  release(): void {
    this.#isSpent = false;
  }

  /**
   * Begins one where a compaction is soon due, a model would summarise, and masks would not do.
   * @param onFailed called with the result where the model's summary failed
   */
  consider(request: CompactionRequest, onFailed: (result: CompactionResult) => void): void {
    if (this.#underway !== undefined || this.#isSpent) return;
    const { settings, summariser, review } = request;
    if (!settings.background || summariser === undefined) return;
    if (review !== undefined && isReviewed(settings, "threshold")) return;
    const decision = dueSoon(request);
    if (decision === undefined) return;
    const abort = new AbortController();
    const asked = { ...request, decision, signal: abort.signal, isBackground: true, review: undefined };
    if (!wouldSummarise(asked)) return;
    const underway: Underway = { request: asked, abort, draft: drafted(asked), onFailed };
    this.#underway = underway;
    this.#isSpent = true;
    this.#tell("begun");
    void underway.draft.then((made) => {
      underway.made = made;
      if (this.#underway !== underway) this.#count(made);
      else if (isSummary(made)) this.#tell("ready");
      else this.#end(underway, made);
    });
  }

  /**
   * Waits for the one that is under way and writes it for this request, in whose place it then stands. Undefined where there
   * is none, where it is not what is asked for, where it failed, and where something else has happened since.
   */
  async takenOver(request: CompactionRequest): Promise<CompactionResult | undefined> {
    const underway = this.#underway;
    if (underway === undefined) return undefined;
    if (!isSameAim(request)) {
      this.abandon("Another compaction was requested.");
      return undefined;
    }
    const { signal } = request;
    const stop = () => underway.abort.abort(signal?.reason);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      if (signal?.aborted) stop();
      const made = await underway.draft;
      // What came to nothing has ended by itself.
      if (this.#underway !== underway || !isSummary(made)) return undefined;
      this.#underway = undefined;
      return await this.#written(made, request);
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  /** Ends the one that is under way; nothing of it is written. */
  abandon(why: string): void {
    const underway = this.#underway;
    if (underway === undefined) return;
    this.#underway = undefined;
    underway.abort.abort(new Error(why));
    if (underway.made !== undefined) this.#count(underway.made);
    this.#tell("discarded", why, 1);
  }

  async #written(draft: Reached, request: CompactionRequest): Promise<CompactionResult | undefined> {
    const discard = () => {
      this.#count(draft);
      this.#tell(
        "discarded",
        "The session moved to another branch in the meantime.",
        draft.run.cost.requests,
      );
    };
    if (request.signal?.aborted || grownDraft(draft, request) === undefined) {
      discard();
      return undefined;
    }
    // Handlers of its beginning may change the session too.
    const result = await carryOutDrafted(draft, () => grownDraft(draft, request), request);
    if (result.status === "cancelled") discard();
    if (result.status === "compacted") {
      this.#counted.committed += 1;
      this.#isSpent = false;
      this.#tell("committed");
    }
    return result;
  }

  /** One that came to nothing by itself. */
  #end(underway: Underway, made: Reached | CompactionResult): void {
    this.#underway = undefined;
    this.#count(made);
    const result = isDraft(made) ? failedResult(made.run, made.state) : made;
    underway.onFailed(result);
    this.#tell(result.status === "failed" ? "failed" : "discarded", result.detail, result.requests);
  }

  #count(made: Reached | CompactionResult): void {
    const isFailed = isDraft(made) ? !isSummary(made) : made.status === "failed";
    this.#counted[isFailed ? "failed" : "discarded"] += 1;
    if (!isDraft(made)) {
      this.#counted.lostUsd += made.costUsd ?? 0;
      return;
    }
    const { run, state } = made;
    const usage = usageOf(run, state.summary);
    this.#counted.lostUsd += usage?.cost.total ?? 0;
    // What was paid is part of what the session cost.
    const [provider = "", model = ""] = /^([^/]*)\/(.*)$/s.exec(run.summariser?.name ?? "")?.slice(1) ?? [];
    if (usage !== undefined)
      run.session.append({ type: "usage", kind: "background_summary", provider, model, usage });
  }

  #tell(state: BackgroundChange["state"], detail = "", lostRequests = 0): void {
    this.#onChange?.({ state, detail, lostRequests });
  }
}

/** The decision for a run whose aim is a summary; undefined where none is due soon. */
function dueSoon(request: CompactionRequest): Decision | undefined {
  const decision = request.decision ?? decisionOf(request);
  const { limitTokens, neededTokens = limitTokens, reading } = decision;
  if (limitTokens === undefined || neededTokens === undefined) return undefined;
  // A working size is no wall: to begin before it would only make compactions more frequent, and dearer.
  const leftTokens = Number(manifestOf(reading.projection.compaction)?.tokensAfter) || 0;
  const wayTokens = Math.max(0, neededTokens - leftTokens);
  const beginTokens = Math.min(limitTokens, Math.floor(neededTokens - wayTokens * (1 - BEGIN_SHARE)));
  return reading.tokens > beginTokens ? { ...decision, limitTokens: beginTokens } : undefined;
}

/** False where masks would do, which are made in no time when the compaction is due, and where there is nothing to summarise. */
function wouldSummarise(request: CompactionRequest): boolean {
  try {
    const run = prepareRun(request);
    if (maskRung.applies(run.start, run)) return false;
    return planSpan({ ...run.span, view: run.start.view }).status === "planned";
  } catch {
    // What cannot be prepared fails where somebody waits for it, and is told there.
    return false;
  }
}

/** True where there is a summary to be written. */
function isSummary(made: Reached | CompactionResult): made is Reached {
  return isDraft(made) && made.state.summary !== undefined;
}

/** True where whoever asks wants what was begun: a summary with the usual cut, and no special words. */
function isSameAim({ focus, firstKeptEntryId, isAgain, summariser }: CompactionRequest): boolean {
  return focus === undefined && firstKeptEntryId === undefined && !isAgain && summariser !== undefined;
}

/**
 * The draft with all that came since its snapshot behind it, kept whole. Undefined where the model's view no longer begins
 * with what was in view then: something was undone, edited or compacted, the session stands on another path, or pins are others.
 */
function grownDraft({ run, state }: Reached, request: CompactionRequest): Reached | undefined {
  const reading = readContext(request);
  const { items, compaction } = reading.projection;
  const before = run.start.view.items;
  if (compaction?.id !== run.span.previous?.id || items.length < before.length) return undefined;
  const isSame = before.every(({ source }, at) => {
    const now = items[at]!;
    return now.entryId === source.entryId && now.edit?.id === source.edit?.id;
  });
  const pinned = new Set([...pinnedTexts(run.session, reading.leafId), ...(request.pinned ?? [])]);
  // The summary's word on what is pinned is the last one.
  if (!isSame || pinned.size !== run.pinned.length || run.pinned.some((text) => !pinned.has(text)))
    return undefined;
  const later = items.slice(before.length).map((source): ViewItem => {
    const tokens = reading.estimator.message(source.message);
    return { ...source, tokens, source };
  });
  const summary = keptFrom(state.summary, later);
  if (summary === undefined) return undefined;
  return withLater({ run, state: { ...state, summary } }, later, request);
}

/** A summary that keeps nothing of its snapshot keeps what came later. */
function keptFrom(summary: Reached["state"]["summary"], later: readonly ViewItem[]) {
  const [first] = later;
  if (summary === undefined || summary.firstKeptEntryId !== null || first === undefined) return summary;
  return roleTraits(first.message).mayStartKept ? { ...summary, firstKeptEntryId: first.entryId } : undefined;
}

function withLater({ run, state }: Reached, later: readonly ViewItem[], request: CompactionRequest): Reached {
  const reading = readContext(request);
  const startItems = [...run.start.view.items, ...later];
  const tokens = viewTokens(startItems);
  const items = [...state.view.items, ...later];
  return {
    run: {
      ...run,
      leafId: reading.leafId,
      reason: request.reason ?? "manual",
      size: contextSizeOf({ reading, estimatedTokens: tokens }),
      overheadTokens: reading.overheadTokens(),
      calibration: reading.calibration(),
      start: { ...run.start, view: { ...run.start.view, items: startItems }, tokens },
    },
    state: {
      ...state,
      view: { ...state.view, items },
      plan: state.plan && { ...state.plan, kept: [...state.plan.kept, ...later] },
      tokens: viewTokens(items),
    },
  };
}
