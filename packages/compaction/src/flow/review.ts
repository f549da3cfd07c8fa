import { BonsaiError } from "@bonsai-agent/messages";
import { carriedWords, carryOver } from "../carry/carry-over.ts";
import { saysNothing } from "../carry/summary-text.ts";
import {
  CompactionCancelled,
  climb,
  isPlanned,
  isReached,
  isWorthWriting,
  type LadderState,
  mayGrow,
  noShorterText,
  type Run,
  summarisedState,
} from "../ladder/ladder.ts";
import { ladderRungs, maskRung } from "../ladder/rungs.ts";
import { type CutPlace, legalPlaces } from "../plan/chosen-cut.ts";
import { startsTurn } from "../plan/cut.ts";
import { originalProjection } from "../plan/originals.ts";
import { planSpan } from "../plan/plan.ts";
import { plannedResult } from "../plan/plan-compaction.ts";
import { besideSummary } from "../plan/view.ts";
import {
  type CompactionDraft,
  checkedDecision,
  type ReviewCompaction,
  type ReviewDecision,
} from "./draft.ts";
import { isModelRung, messageOf } from "./outcome.ts";
import { caveatsOf, resultOf } from "./result.ts";

/** How far the ladder was climbed, and how it was asked to. */
export interface Reached {
  run: Run;
  state: LadderState;
}

/** What is shown. */
interface Shown extends Reached {
  stage: CompactionDraft["stage"];
}

/**
 * Climbs the ladder as the user decides: a plan is shown before a model is asked, a draft before it is written, as often as
 * it takes. What was spent on drafts that were thrown away counts.
 * @throws as `climb` does; BonsaiError `review_invalid`, `draft_outdated`
 */
export async function reviewedClimb(run: Run, review: ReviewCompaction): Promise<Reached> {
  const state = await climb(run, [maskRung]);
  return new DraftReview(review, { run, state }).reached();
}

/** Owner of what is shown, and of the draft to go back to. */
class DraftReview {
  readonly #review: ReviewCompaction;
  /** As it was asked for. */
  readonly #asked: Run;
  /** Where each attempt begins: nothing is masked twice. */
  readonly #masked: LadderState;
  #shown: Shown;
  #draft: Shown | undefined;
  #isDone = false;
  #refused: Refused = {};
  /** The extensions have had their say. */
  #isExtensionAsked = false;

  constructor(review: ReviewCompaction, { run, state }: Reached) {
    this.#review = review;
    this.#asked = run;
    this.#masked = state;
    this.#shown = { run, state, stage: "plan" };
  }

  async reached(): Promise<Reached> {
    await this.#begin(this.#asked);
    while (!this.#isDone) {
      const decision = await this.#decision();
      if (decision !== undefined) await this.#carryOut(decision);
    }
    return this.#shown;
  }

  /** Shows the plan, where a model would be asked; else the draft at once. */
  async #begin(run: Run): Promise<void> {
    const { view } = this.#masked;
    const plan = isReached(this.#masked, run) ? undefined : planSpan({ ...run.span, view });
    this.#shown = { run, state: { ...this.#masked, plan }, stage: "plan" };
    if (!isPlanned(this.#shown.state) || run.summariser === undefined) await this.#make();
  }

  /** Makes the draft that the plan leads to; where that fails, a draft that is there already stays. */
  async #make(): Promise<void> {
    const { run, state: planned } = this.#shown;
    const skipsExtensions = run.isDigestWanted && this.#isExtensionAsked;
    const rungs = ladderRungs.filter(({ name }) => !(skipsExtensions && name === "extension"));
    const state = await climb(run, rungs, planned).catch((error: unknown) => {
      if (error instanceof CompactionCancelled || this.#draft === undefined) throw error;
      this.#goBack(messageOf(error));
    });
    this.#isExtensionAsked = true;
    if (state === undefined) return;
    if (isWorthWriting(run, state)) return this.#show({ run, state });
    const causes = state.failures.map(({ message }) => message).join(" | ");
    if (this.#draft !== undefined) return this.#goBack(causes || "It would change nothing.");
    // Without a draft, it ends as it would without a look.
    this.#shown = { run, state, stage: "ready" };
    this.#isDone = true;
  }

  #show({ run, state }: Reached): void {
    const former = this.#draft?.state.summary?.usage;
    // An extension's own summary has a cost of its own, which is gone with it unless it is counted.
    if (former !== undefined && former !== state.summary?.usage) run.onUsage(former);
    this.#draft = { run, state, stage: "ready" };
    this.#shown = this.#draft;
  }

  #goBack(why?: string): void {
    this.#shown = this.#draft!;
    this.#refused = why === undefined ? {} : { problem: `Could not make another summary: ${why}` };
  }

  /** Undefined where the answer cannot be carried out: then it is asked again. */
  async #decision(): Promise<ReviewDecision | undefined> {
    const { name: model } = this.#asked.summariser ?? {};
    const draft = draftOf(this.#shown, { hasDraft: this.#draft !== undefined, refused: this.#refused });
    const decision = checkedDecision(await unlessAborted(this.#review(draft), draft.signal));
    const isOtherModel = this.#asked.summariser?.name !== model;
    this.#refused = {};
    if (!draft.actions.has(decision.action))
      this.#refused = { problem: `This compaction has no action "${decision.action}".` };
    else if (isOtherModel && decision.action === "apply")
      this.#refused = { problem: `The model changed to ${this.#asked.summariser?.name}.` };
    else return decision;
    return undefined;
  }

  async #carryOut(decision: ReviewDecision): Promise<void> {
    const { run, stage } = this.#shown;
    switch (decision.action) {
      case "apply":
        if (stage === "plan") return this.#make();
        checkCurrent(run);
        this.#isDone = true;
        return;
      case "edit":
        return this.#edit(decision.prose);
      case "again":
        return this.#begin({ ...this.#asked, span: run.span, focus: focusAfter(decision, run) });
      case "cut":
        return this.#cut(decision.firstKeptEntryId);
      case "digest":
        return this.#begin({ ...run, ...digestAlone });
      case "back":
        return this.#goBack();
      case "cancel":
        throw new CompactionCancelled("You declined it.", undefined, true);
    }
  }

  /** Whoever was to summarise does so for the other span. */
  async #cut(firstKeptEntryId: string): Promise<void> {
    const { run } = this.#shown;
    const places = legalPlaces(besideSummary(this.#masked.view.items));
    if (places.some(({ entryId }) => entryId === firstKeptEntryId))
      return this.#begin({ ...run, span: { ...run.span, firstKeptEntryId } });
    this.#refused = { problem: `The kept entries cannot start at entry ${firstKeptEntryId}.` };
  }

  /** The rungs behind the summary are climbed again: a longer one may need them. */
  async #edit(prose: string): Promise<void> {
    const { run, state } = this.#shown;
    const text = prose.replaceAll("\r\n", "\n").trim();
    const refuse = (problem: string) => {
      this.#refused = { problem, ...(text !== "" && { refusedProse: prose }) };
    };
    if (text === state.summary!.prose.trim()) return;
    if (saysNothing(text)) return refuse("The edited summary is empty. The previous one stays.");
    const summary = { ...state.summary!.withProse(text), isEdited: true };
    const edited = await climb(run, ladderRungs, summarisedState(state, summary));
    if (edited.tokens >= run.start.tokens && !mayGrow(run.start, edited, run))
      return refuse(noShorterText(run, run.start, edited));
    this.#show({ run, state: edited });
  }
}

type Refused = Pick<CompactionDraft, "problem" | "refusedProse">;

const digestAlone = { summariser: undefined, whyUnasked: undefined, isDigestWanted: true };

function focusAfter({ focus }: { focus?: string }, run: Run): string | undefined {
  if (focus === undefined) return run.focus;
  return focus.trim() === "" ? undefined : focus.trim();
}

interface DraftOptions {
  hasDraft: boolean;
  refused: Refused;
}

function draftOf({ stage, run, state }: Shown, { hasDraft, refused }: DraftOptions): CompactionDraft {
  const { reason, focus, signal } = run;
  const { summary, plan } = state;
  const result =
    stage === "plan" ? plannedResult(run, state, run.summariser) : resultOf(run, state, "planned");
  const carried = summary === undefined ? plan && carryOver(plan, run) : summary.carried;
  const caveats = stage === "ready" ? caveatsOf(run, state) : [];
  return {
    stage,
    reason,
    result,
    before: run.start.view.items.map(({ source }) => source),
    userWords: carried === undefined ? [] : carriedWords(carried),
    ...(summary && { prose: summary.prose }),
    isEdited: summary?.isEdited === true,
    ...(focus !== undefined && { focus }),
    ...summariserOf({ run, state, stage }),
    ...(caveats.length > 0 && { caveat: caveats.join(" ") }),
    cuts: cutsOf({ run, state }),
    actions: new Set(actionsOf({ stage, run, state }, hasDraft)),
    ...refused,
    signal,
  };
}

function summariserOf({ stage, run, state }: Shown): Pick<CompactionDraft, "summariser"> {
  const { summary, summarisedBy, madeBy } = state;
  const model = run.summariser?.name;
  if (stage === "plan") return model === undefined ? {} : { summariser: model };
  if (summary === undefined) return {};
  const maker = summary.fromHook ? madeBy : isModelRung(summarisedBy) ? model : "digest";
  return maker === undefined ? {} : { summariser: maker };
}

/** None where there is no summary to be cut off. */
function cutsOf({ run, state: { plan, summary } }: Reached): CompactionDraft["cuts"] {
  if (plan?.status !== "planned") return {};
  const items = besideSummary(run.start.view.items);
  const order = new Map(items.map(({ entryId }, at) => [entryId, at]));
  const { firstKeptEntryId } = summary ?? plan;
  const cutAt = order.get(firstKeptEntryId ?? "") ?? items.length;
  const places = legalPlaces(items);
  const isTurn = ({ entryId }: CutPlace) => startsTurn(items[order.get(entryId)!]!.message);
  const before = places.filter(({ entryId }) => order.get(entryId)! < cutAt);
  const behind = places.filter(({ entryId }) => order.get(entryId)! > cutAt);
  const [earlier, later] = [before.at(-1), behind[0]];
  const [earlierTurn, laterTurn] = [before.findLast(isTurn), behind.find(isTurn)];
  return {
    ...(earlier && { earlier }),
    ...(later && { later }),
    ...(earlierTurn && earlierTurn !== earlier && { earlierTurn }),
    ...(laterTurn && laterTurn !== later && { laterTurn }),
  };
}

function actionsOf({ stage, state }: Shown, hasDraft: boolean): ReviewDecision["action"][] {
  const { summary, summarisedBy } = state;
  if (stage === "plan") {
    const back: ReviewDecision["action"][] = hasDraft ? ["back"] : [];
    return ["apply", "again", "cut", "digest", ...back, "cancel"];
  }
  if (summary === undefined) return ["apply", "cancel"];
  const digest: ReviewDecision["action"][] = summarisedBy === "digest" && !summary.isEdited ? [] : ["digest"];
  return ["apply", "edit", "again", "cut", ...digest, "cancel"];
}

/** What came behind the context while it was looked at is kept; a context that is another one is not written to. */
function checkCurrent({ session, former, start: { view } }: Run): void {
  const { compaction } = session.projection();
  const isSameFormer = former === undefined || former.id === compaction?.id;
  const { items } =
    former === undefined || !isSameFormer ? session.projection() : originalProjection(session);
  const isCurrent = view.items.every(
    ({ entryId, edit }, at) => items[at]?.entryId === entryId && items[at].edit?.id === edit?.id,
  );
  if (isSameFormer && isCurrent) return;
  throw new BonsaiError({
    code: "draft_outdated",
    message: "The session or its context changed during the review.",
    hint: "Nothing changed. Compact again.",
  });
}

/** @throws CompactionCancelled after an abort */
async function unlessAborted<Value>(value: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const aborted = Promise.withResolvers<never>();
  const stop = () => aborted.reject(new CompactionCancelled(""));
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([value, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
