import { BonsaiError, jsonText, messageOf } from "@bonsai-agent/messages";
import { raceAbort } from "@bonsai-agent/messages/host";
import type { ProjectionItem } from "@bonsai-agent/session";
import { carriedWords, isEmptySummary } from "../carry/carry-over.ts";
import { type CompactionReason, isModelRung } from "../details.ts";
import {
  climb,
  isReached,
  isWorthWriting,
  ladderRungs,
  maskRung,
  mayGrow,
  needsSummary,
  noShorterText,
  plannedState,
} from "../ladder/ladder.ts";
import { type ClimbResult, CompactionCancelled, type LadderState, type Run } from "../ladder/run.ts";
import { carryOverOf, layDraft } from "../ladder/summary-rungs.ts";
import { type CutPlace, legalPlaces, startsTurn } from "../plan/cut.ts";
import { originalProjection } from "../plan/originals.ts";
import { beginsWith, withoutSummary } from "../plan/view.ts";
import { plannedResult } from "./dry-run.ts";
import { type CompactionResult, caveatsOf, resultOf } from "./result.ts";

/** A compaction before it is written, for the user to decide on. */
export interface CompactionDraft {
  /** `plan`: nothing was sent yet, and a model would be asked next. `ready`: the compaction can be written. */
  stage: "plan" | "ready";
  reason: CompactionReason;
  /** With the status `planned`. At the stage `plan`, the size of the summary is an estimate. */
  result: CompactionResult;
  /** The context that the model sees now, oldest first. */
  before: readonly ProjectionItem[];
  /** The user's words that the summary carries, in lines. */
  userWords: readonly string[];
  /** The editable part of the summary; absent if there is none yet. */
  prose?: string;
  isEdited: boolean;
  /** Topics that the summary must emphasise. */
  focus?: string;
  /** The maker of the summary: `provider/id` of a model, `digest`, or an extension. */
  summariser?: string;
  /** Why the digest made the summary, or that the context is still too large. */
  caveat?: string;
  /** Other possible cuts. */
  cuts: OtherCuts;
  /** The allowed decisions. */
  actions: ReadonlySet<ReviewDecision["action"]>;
  /** Why the latest decision was not carried out, in a sentence. */
  problem?: string;
  /** A refused prose, so that it is not lost. */
  refusedProse?: string;
  /** Aborted if the decision is not needed any more. */
  signal: AbortSignal;
}

/** The nearest legal cuts before and after the present one, and the nearest that begin a turn, if those are others. */
interface OtherCuts {
  earlier?: CutPlace;
  later?: CutPlace;
  earlierTurn?: CutPlace;
  laterTurn?: CutPlace;
}

/**
 * `apply`: carry out the plan, or write the ready compaction. `edit`: replace the prose. `again`: make another summary,
 * with another focus ("" is none). `cut`: use another cut, one of `cutPlaces`. `digest`: use the digest. `back`: from a
 * plan to the draft before it. `cancel`: write nothing. The new plan or draft is shown again.
 */
export type ReviewDecision =
  | { action: "apply" | "digest" | "back" | "cancel" }
  | { action: "edit"; prose: string }
  | { action: "cut"; firstKeptEntryId: string }
  | { action: "again"; focus?: string };

/** Decides on a compaction. If it throws, the compaction fails, and nothing is written. */
export type ReviewCompaction = (draft: CompactionDraft) => Promise<ReviewDecision>;

const ACTIONS = ["apply", "edit", "again", "cut", "digest", "back", "cancel"];

/** Checks the decision of a reviewer in plain JavaScript. @throws BonsaiError `review_invalid` */
function validateDecision(decision: unknown): ReviewDecision {
  const { action, prose, focus, firstKeptEntryId } = (decision ?? {}) as Record<string, unknown>;
  const isEdit = action !== "edit" || typeof prose === "string";
  const isFocus = action !== "again" || focus === undefined || typeof focus === "string";
  const isCut = action !== "cut" || typeof firstKeptEntryId === "string";
  if (ACTIONS.includes(action as string) && isEdit && isFocus && isCut) return decision as ReviewDecision;
  throw new BonsaiError({
    code: "review_invalid",
    message: `The compaction review returned an unknown decision: ${jsonText(decision) || "nothing"}.`,
    hint: `Return {action} with one of ${ACTIONS.join(", ")}. edit needs a text prose, cut needs firstKeptEntryId, again can have a focus.`,
  });
}

type Refused = Pick<CompactionDraft, "problem" | "refusedProse">;

/** A plan or a draft that is shown. */
interface Shown extends ClimbResult {
  stage: CompactionDraft["stage"];
}

/**
 * Climbs the ladder as the user decides. The plan is shown before a model is asked, and each draft before it is written.
 * Discarded drafts count in the cost.
 * @throws as `climb` does; BonsaiError `review_invalid`, `draft_outdated`
 */
export async function reviewedClimb(run: Run, review: ReviewCompaction): Promise<ClimbResult> {
  const state = await climb(run, [maskRung]);
  return new DraftReview(review, { run, state }).reviewed();
}

/** Owner of the shown plan or draft, and of the draft to go back to. */
class DraftReview {
  readonly #review: ReviewCompaction;
  readonly #asked: Run;
  /** Each attempt begins here, so that nothing is masked twice. */
  readonly #masked: LadderState;
  #shown: Shown;
  #draft: Shown | undefined;
  #isDone = false;
  #refused: Refused = {};
  #isExtensionAsked = false;

  constructor(review: ReviewCompaction, { run, state }: ClimbResult) {
    this.#review = review;
    this.#asked = run;
    this.#masked = state;
    this.#shown = { run, state, stage: "plan" };
  }

  async reviewed(): Promise<ClimbResult> {
    await this.#begin(this.#asked);
    while (!this.#isDone) {
      const decision = await this.#decision();
      if (decision !== undefined) await this.#carryOut(decision);
    }
    return this.#shown;
  }

  /** Shows the plan if a model would be asked, else the draft. */
  async #begin(run: Run): Promise<void> {
    const state = { ...this.#masked, plan: undefined };
    this.#shown = {
      run,
      state: isReached(state, run.goalTokens) ? state : plannedState(state, run),
      stage: "plan",
    };
    if (!needsSummary(this.#shown.state) || run.summariser === undefined) await this.#make();
  }

  /** Makes the planned draft. If that fails, an earlier draft stays. */
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
    // Without a draft, it ends as it would without a review.
    this.#shown = { run, state, stage: "ready" };
    this.#isDone = true;
  }

  #show({ run, state }: ClimbResult): void {
    this.#draft = { run, state, stage: "ready" };
    this.#shown = this.#draft;
  }

  #goBack(why?: string): void {
    this.#shown = this.#draft!;
    this.#refused = why === undefined ? {} : { problem: `Could not make another summary: ${why}` };
  }

  /** Undefined if the decision cannot be carried out; the user is then asked again. */
  async #decision(): Promise<ReviewDecision | undefined> {
    const { name: model } = this.#asked.summariser ?? {};
    const draft = draftOf(this.#shown, { hasDraft: this.#draft !== undefined, refused: this.#refused });
    const decision = validateDecision(
      await raceAbort(this.#review(draft), draft.signal, () => {
        throw new CompactionCancelled("");
      }),
    );
    const { name } = this.#asked.summariser ?? {};
    let problem: string | undefined;
    if (!draft.actions.has(decision.action)) problem = `This compaction has no action "${decision.action}".`;
    else if (name !== model && decision.action === "apply") problem = `The model changed to ${name}.`;
    this.#refused = problem === undefined ? {} : { problem };
    return problem === undefined ? decision : undefined;
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
        return this.#begin({ ...run, ...DIGEST_ALONE });
      case "back":
        return this.#goBack();
      case "cancel":
        throw new CompactionCancelled("You declined it.", undefined, true);
    }
  }

  /** The same summariser summarises the other span. */
  async #cut(firstKeptEntryId: string): Promise<void> {
    const { run } = this.#shown;
    const places = legalPlaces(withoutSummary(this.#masked.view.items));
    if (places.some(({ entryId }) => entryId === firstKeptEntryId))
      return this.#begin({ ...run, span: { ...run.span, firstKeptEntryId } });
    this.#refused = { problem: `The kept entries cannot start at entry ${firstKeptEntryId}.` };
  }

  /** Lays the edited draft on the context again. A longer one may need the rungs after the summary. */
  async #edit(prose: string): Promise<void> {
    const { run, state } = this.#shown;
    const { draft } = state.summary!;
    const text = prose.replaceAll("\r\n", "\n").trim();
    const refuse = (problem: string) => {
      this.#refused = { problem, ...(text !== "" && { refusedProse: prose }) };
    };
    if (text === draft.prose.trim()) return;
    if (isEmptySummary(text)) return refuse("The edited summary is empty. The previous one stays.");
    const { plan, carryOver: extensions, failures } = state;
    const base = { ...this.#masked, plan, carryOver: extensions, failures };
    const laid = layDraft(base, { ...draft, prose: text, isEdited: true, provider: undefined }, run);
    const edited = await climb(run, ladderRungs, laid);
    if (edited.tokens >= run.start.tokens && !mayGrow(run.start, edited, run))
      return refuse(noShorterText(run, run.start, edited));
    this.#show({ run, state: edited });
  }
}

const DIGEST_ALONE = { summariser: undefined, skippedModelReason: undefined, isDigestWanted: true };

function focusAfter({ focus }: { focus?: string }, run: Run): string | undefined {
  if (focus === undefined) return run.focus;
  return focus.trim() === "" ? undefined : focus.trim();
}

function draftOf(
  { stage, run, state }: Shown,
  { hasDraft, refused }: { hasDraft: boolean; refused: Refused },
): CompactionDraft {
  const { reason, focus, signal } = run;
  const { summary, plan } = state;
  const isPlan = stage === "plan";
  const carried = summary?.carried ?? (plan && carryOverOf(plan, run, focus));
  const caveats = isPlan ? [] : caveatsOf(run, state);
  const summariser = makerOf({ stage, run, state });
  return {
    stage,
    reason,
    result: isPlan ? plannedResult(run, state, run.summariser) : resultOf(run, state, "planned"),
    before: run.start.view.items.map(({ source }) => source),
    userWords: carried === undefined ? [] : carriedWords(carried),
    ...(summary && { prose: summary.draft.prose }),
    isEdited: summary?.draft.isEdited === true,
    ...(focus !== undefined && { focus }),
    ...(summariser !== undefined && { summariser }),
    ...(caveats.length > 0 && { caveat: caveats.join(" ") }),
    cuts: cutsOf({ run, state }),
    actions: new Set(actionsOf({ stage, run, state }, hasDraft)),
    ...refused,
    signal,
  };
}

function makerOf({ stage, run, state: { summary } }: Shown): string | undefined {
  const model = run.summariser?.name;
  if (stage === "plan" || summary === undefined) return stage === "plan" ? model : undefined;
  const { rung, extension } = summary.draft;
  if (rung === "extension") return extension;
  return isModelRung(rung) ? model : "digest";
}

function cutsOf({ run, state: { plan } }: ClimbResult): OtherCuts {
  if (plan?.status !== "planned") return {};
  const items = withoutSummary(run.start.view.items);
  const order = new Map(items.map(({ entryId }, at) => [entryId, at]));
  const cutAt = order.get(plan.firstKeptEntryId ?? "") ?? items.length;
  const places = legalPlaces(items);
  const isTurn = ({ entryId }: CutPlace) => startsTurn(items[order.get(entryId)!]!.message);
  const before = places.filter(({ entryId }) => order.get(entryId)! < cutAt);
  const after = places.filter(({ entryId }) => order.get(entryId)! > cutAt);
  const [earlier, later] = [before.at(-1), after[0]];
  const [earlierTurn, laterTurn] = [before.findLast(isTurn), after.find(isTurn)];
  return {
    ...(earlier && { earlier }),
    ...(later && { later }),
    ...(earlierTurn && earlierTurn !== earlier && { earlierTurn }),
    ...(laterTurn && laterTurn !== later && { laterTurn }),
  };
}

function actionsOf({ stage, state: { summary } }: Shown, hasDraft: boolean): ReviewDecision["action"][] {
  if (stage === "plan")
    return ["apply", "again", "cut", "digest", ...(hasDraft ? ["back" as const] : []), "cancel"];
  if (summary === undefined) return ["apply", "cancel"];
  const isDigest = summary.draft.rung === "digest" && !summary.draft.isEdited;
  return ["apply", "edit", "again", "cut", ...(isDigest ? [] : ["digest" as const]), "cancel"];
}

/** Messages that came after the reviewed context are kept. A context that changed is not written to. */
function checkCurrent({ session, former, start }: Run): void {
  const { compaction, items } = session.projection();
  const isSame = former === undefined || former.id === compaction?.id;
  const now = former !== undefined && isSame ? originalProjection(session).items : items;
  if (isSame && beginsWith(now, start.view)) return;
  throw new BonsaiError({
    code: "draft_outdated",
    message: "The session or its context changed during the review.",
    hint: "Nothing changed. Compact again.",
  });
}
