import { addUsage, BonsaiError, type Calibration, tokenDigits, type Usage } from "@bonsai-agent/messages";
import { type CompactionEntry, type Entry, pinChange, type Session } from "@bonsai-agent/session";
import type { CarryOver, ExtensionCarryOver } from "../carry/carry-over.ts";
import type { CompactionReason, RungName } from "../carry/details.ts";
import type { LossReport } from "../carry/loss.ts";
import { saysNothing } from "../carry/summary-text.ts";
import type { CompactionLifecycle } from "../events.ts";
import { isModelRung, messageOf } from "../flow/outcome.ts";
import type { Aims, Budgets } from "../plan/budget.ts";
import { type CompactionPlan, type PlanOptions, planSpan } from "../plan/plan.ts";
import {
  type ContextSize,
  type ContextView,
  PLANNED_ENTRY_ID,
  totalAfter,
  type ViewItem,
  viewTokens,
} from "../plan/view.ts";
import type { SpanRecord } from "../record/record.ts";
import type { CompactionSettings } from "../settings.ts";
import { type Summariser, SummaryFailure } from "../summariser.ts";

/** One compaction under way: everything that is fixed when it begins, and what it costs. */
export interface Run extends Aims {
  readonly session: Session;
  /** The path that is compacted ends here. */
  readonly leafId: string | null;
  readonly reason: CompactionReason;
  /** True where it is of a snapshot, and the agent works on meanwhile. Default false. */
  readonly isBackground?: boolean | undefined;
  /** True where the economy alone speaks for it: the context is below the threshold. Default false. */
  readonly isEconomic?: boolean | undefined;
  readonly settings: CompactionSettings;
  readonly budgets: Budgets;
  /** The context before it, and what its tokens are of. */
  readonly size: ContextSize;
  /** System prompt and tools, as learned from usage, else by estimate. */
  readonly overheadTokens: number;
  readonly calibration: Calibration | undefined;
  readonly start: LadderState;
  /** The compaction that this one makes anew. */
  readonly former: CompactionEntry | undefined;
  /** What planning needs beside the view. */
  readonly span: Omit<PlanOptions, "view">;
  /** Undefined where only the digest is there. */
  readonly summariser: Summariser | undefined;
  /** Why there is none although a model could be asked, in a sentence for people. */
  readonly whyUnasked?: string | undefined;
  readonly digest: Summariser | undefined;
  readonly focus: string | undefined;
  /** Takes the place of the instructions; then no sections are expected. */
  readonly instructions?: string | undefined;
  /** The digest summarises, whoever else offers a summary. Default false. */
  readonly isDigestWanted?: boolean;
  readonly pinned: readonly string[];
  readonly lifecycle: CompactionLifecycle | undefined;
  readonly signal: AbortSignal;
  /** Counts what summaries cost. */
  readonly onUsage: (usage: Usage | undefined) => void;
  readonly cost: { requests: number; usage: Usage | undefined };
}

/** A summary that is ready to be written. */
export interface PlannedSummary {
  /** As the model will see it. */
  summary: string;
  prose: string;
  firstKeptEntryId: string | null;
  /** Undefined for a summary of an extension's own. */
  carried: CarryOver | undefined;
  /** What it stands for, where its details cannot hold that. */
  record?: SpanRecord | undefined;
  /** What the context loses by it; absent where that was not checked. */
  loss?: LossReport | undefined;
  /** An extension's own. */
  details?: unknown;
  usage?: Usage | undefined;
  fromHook: boolean;
  /** The same with another prose: what is carried is rendered again, and the loss check is made again. */
  withProse: (prose: string) => PlannedSummary;
  /** True where the user has changed its prose. */
  isEdited?: boolean;
}

/** How far the ladder has been climbed: nothing of it is written yet. */
export interface LadderState {
  readonly view: ContextView;
  readonly plan: CompactionPlan | undefined;
  readonly summary: PlannedSummary | undefined;
  /** The rung that made it. */
  readonly summarisedBy?: RungName | undefined;
  /** The extension whose summary it is. */
  readonly madeBy?: string | undefined;
  /** What extensions want carried over behind the summary, as far as it fits. */
  readonly carryOver?: ExtensionCarryOver | undefined;
  /** Estimated tokens of the context as it would be now. */
  readonly tokens: number;
  /** The rung that got furthest. */
  readonly rung: RungName | undefined;
  readonly failures: readonly RungFailure[];
}

export interface RungFailure {
  rung: RungName;
  message: string;
  cause?: unknown;
  /** True when the summariser found its request too long. */
  overflow?: boolean;
}

/** One step of the ladder. */
export interface Rung {
  readonly name: RungName;
  /** False where there is nothing for this rung to do. */
  applies(state: LadderState, run: Run): boolean;
  /** The state after the step; throws where the step fails. */
  attempt(state: LadderState, run: Run): Promise<LadderState>;
}

/**
 * Climbs until the target is met. A rung that throws or does not shrink the context is noted as a failure, and
 * the next one is tried from where the last good one stood. Nothing is written.
 * @param from where it begins. Default: the context as it is
 * @throws CompactionCancelled when the signal aborts or an extension cancels; BonsaiError where an extension's
 *   summary is not acceptable.
 */
export async function climb(
  run: Run,
  rungs: readonly Rung[],
  from: LadderState = run.start,
): Promise<LadderState> {
  const steps = ladderSteps(run, rungs, from);
  let next = steps.next();
  while (!next.done) {
    if (run.signal.aborted) throw new CompactionCancelled("");
    next = steps.next(await tryRung(next.value, run));
  }
  return next.value;
}

/** A rung that is next, and where it is tried from. */
interface LadderStep {
  rung: Rung;
  state: LadderState;
}

/** The rungs that apply, one after the other: each is to be given the state that it brought. */
export function* ladderSteps(
  run: Run,
  rungs: readonly Rung[],
  from: LadderState = run.start,
): Generator<LadderStep, LadderState, LadderState> {
  let state = from;
  for (const rung of rungs) {
    if (isReached(state, run)) break;
    if (rung.name !== "mask")
      state = { ...state, plan: state.plan ?? planSpan({ ...run.span, view: state.view }) };
    if (rung.applies(state, run)) state = yield { rung, state };
  }
  return state;
}

/** True when nothing more has to be done. */
export function isReached(state: LadderState, { targetTokens }: Run): boolean {
  return targetTokens === undefined ? state.summary !== undefined : state.tokens <= targetTokens;
}

/** True where there is something to write: a summary, or edits that are enough or better than nothing. */
export function isWorthWriting(run: Run, state: LadderState): boolean {
  return state.summary !== undefined || masksSuffice(run, state) || isBestTry(run, state);
}

/** An automatic run is done at its target; one that the user asked for, when masks alone made the rest fit its budget. */
export function masksSuffice(run: Run, state: LadderState): boolean {
  if (state.view.edits.length === 0) return false;
  if (run.reason !== "manual") return isReached(state, run);
  return state.plan?.status === "nothing-to-compact" && run.start.tokens > run.span.keepTokens;
}

/** Where nothing would be sent else, a try is better than an error, also where the aim was not quite reached. */
function isBestTry(run: Run, { view, tokens }: LadderState): boolean {
  const { reason, start } = run;
  const isForced = reason === "overflow" || (reason === "threshold" && isUnsendable(start, run));
  return isForced && view.edits.length > 0 && tokens < start.tokens;
}

/** True for a context so far above the window that no request with it would be sent. */
export function isUnsendable(
  { tokens }: LadderState,
  { sendableTokens = Number.POSITIVE_INFINITY }: Run,
): boolean {
  return tokens > sendableTokens;
}

/** What all requests of a compaction used: for the summary, and for what was tried in vain or thrown away. */
export function usageOf({ cost: { usage } }: Run, summary: PlannedSummary | undefined): Usage | undefined {
  const own = summary?.usage;
  return usage !== undefined && own !== undefined ? addUsage(usage, own) : (own ?? usage);
}

/** US dollars of these requests; null where nobody knows what they cost. */
export function costUsdOf(run: Run, summary: PlannedSummary | undefined): number | null {
  const { cost, isUncounted } = usageOf(run, summary) ?? {};
  const usd = cost?.total ?? 0;
  const isUnknown = isUncounted === true || (usd === 0 && run.cost.requests > 0);
  return isUnknown && run.summariser?.isFree !== true ? null : usd;
}

/** True where a summary is wanted and not made yet. */
export function isPlanned({ plan, summary }: LadderState): boolean {
  return plan?.status === "planned" && summary === undefined;
}

/** The state after a rung, or the former one with the failure noted. @throws as `climb` does */
async function tryRung({ rung, state }: LadderStep, run: Run): Promise<LadderState> {
  try {
    const next = await rung.attempt(state, run);
    // What extensions want carried over changes nothing by itself.
    if (next.view === state.view && next.summary === state.summary) return next;
    if (next.summary !== undefined && saysNothing(next.summary.prose))
      throw new SummaryFailure("empty", "The summary is empty.");
    const summarisedBy = next.summary === state.summary ? state.summarisedBy : rung.name;
    const made = { ...next, rung: rung.name, summarisedBy };
    if (next.tokens < state.tokens || mayGrow(state, made, run)) return made;
    throw new SummaryFailure("no-shorter", noShorterText(run, state, next));
  } catch (error) {
    if (error instanceof CompactionCancelled || BonsaiError.is(error)) throw error;
    if (run.signal.aborted) throw new CompactionCancelled("");
    return { ...state, failures: [...state.failures, failureOf(rung, error)] };
  }
}

/** Of whole contexts, as every other size before and after a compaction. */
export function noShorterText({ size }: Run, before: LadderState, after: LadderState): string {
  const [from, to] = [before, after].map(({ tokens }) => tokenDigits(totalAfter(size, tokens), true));
  return `It would not shrink the context: ${from} tokens before, ${to} after.`;
}

/** An extension's summary is taken as it is; a model's that the user asked for may be a little longer than the messages. */
export function mayGrow(
  before: LadderState,
  { summary, summarisedBy, tokens }: LadderState,
  run: Run,
): boolean {
  if (summary === undefined) return false;
  if (summary.fromHook) return true;
  return run.reason === "manual" && isModelRung(summarisedBy) && tokens - before.tokens <= MAX_EXTRA_TOKENS;
}

/** The headings alone make a summary of a few messages longer than they are. */
const MAX_EXTRA_TOKENS = 500;

function failureOf(rung: Rung, error: unknown): RungFailure {
  const overflow = error instanceof SummaryFailure && (error.overflow || error.kind === "does-not-fit");
  return { rung: rung.name, message: messageOf(error), cause: error, overflow };
}

/** Thrown inside a compaction that somebody stopped: the user, or an extension. */
export class CompactionCancelled extends Error {
  /** The extension that stopped it; undefined for the user. */
  readonly by: string | undefined;
  /** True where the user has looked at it and said no. */
  readonly isDeclined: boolean;

  constructor(why: string, by?: string, isDeclined = false) {
    super(why);
    this.name = "CompactionCancelled";
    this.by = by;
    this.isDeclined = isDeclined;
  }
}

/** The state once a summary stands for everything before its first kept entry. */
export function summarisedState(state: LadderState, summary: PlannedSummary): LadderState {
  const from = state.view.items.findIndex((item) => item.entryId === summary.firstKeptEntryId);
  const kept = from < 0 ? [] : state.view.items.slice(from);
  const keptIds = new Set(kept.map((item) => item.entryId));
  // The summary carries what is pinned.
  const beside = kept.filter((item) => pinChange(item.entry) === undefined);
  const items = [summaryItem(state, summary), ...beside];
  const edits = state.view.edits.filter((edit) => keptIds.has(edit.entryId));
  return { ...state, summary, view: { ...state.view, items, edits }, tokens: viewTokens(items) };
}

/** Stands for the compaction entry that is not written yet. */
function summaryItem({ view }: LadderState, { summary }: PlannedSummary): ViewItem {
  const message = { role: "compactionSummary" as const, summary, tokensBefore: 0, timestamp: 0 };
  const entry = {
    type: "compaction",
    id: PLANNED_ENTRY_ID,
    parentId: null,
    timestamp: "",
    summary,
    firstKeptEntryId: PLANNED_ENTRY_ID,
    tokensBefore: 0,
  } as Entry;
  const source = { entryId: PLANNED_ENTRY_ID, entry, message };
  return { ...source, tokens: view.estimator.message(message), source };
}
