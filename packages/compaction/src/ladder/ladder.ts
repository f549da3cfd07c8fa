import { BonsaiError, messageOf, type TokenEstimator, type UserContent } from "@bonsai-agent/messages";
import { tokenDigits } from "@bonsai-agent/messages/numbers";
import { contentOf, imageMark, isMasked, isOutput, MASK_PLACEHOLDER } from "@bonsai-agent/session/host";
import { isEmptySummary, latestRequestChars } from "../carry/carry-over.ts";
import { isModelRung } from "../details.ts";
import { latestAnswer, planSpan } from "../plan/cut.ts";
import {
  type PlannedEdit,
  roleTraits,
  totalAfter,
  truncated,
  type ViewItem,
  viewTokens,
  withEdits,
} from "../plan/view.ts";
import { SummaryFailure } from "../summariser.ts";
import { extensionRung } from "./extension-rung.ts";
import { providerRung } from "./provider-rung.ts";
import { CompactionCancelled, type LadderState, type Run, type Rung } from "./run.ts";
import { chunksRung, digestRung, summariseRung } from "./summary-rungs.ts";

/**
 * Climbs until the goal is reached. A rung that throws or does not shrink the context is recorded as a failure, and the
 * next rung starts from the last good state. Writes nothing.
 * @param from the first state. Default: the context as it is
 * @throws CompactionCancelled after an abort, or if an extension cancels; BonsaiError for an unacceptable summary of an
 *   extension
 */
export async function climb(
  run: Run,
  rungs: readonly Rung[],
  from: LadderState = run.start,
): Promise<LadderState> {
  let state = from;
  for (const rung of rungs) {
    if (isReached(state, run.goalTokens)) break;
    if (run.signal.aborted) throw new CompactionCancelled("");
    if (rung.name !== "mask") state = plannedState(state, run);
    if (!rung.isForSummary || needsSummary(state)) state = await tryRung(rung, state, run);
  }
  return state;
}

/** The state with its plan; an existing plan stays. */
export function plannedState(state: LadderState, run: Run): LadderState {
  return { ...state, plan: state.plan ?? planSpan({ ...run.span, view: state.view }) };
}

/** True if nothing more has to be done. */
export function isReached({ summary, tokens }: LadderState, goalTokens: number | undefined): boolean {
  return goalTokens === undefined ? summary !== undefined : tokens <= goalTokens;
}

/** True if there is a summary to write, or edits that suffice or are better than nothing. */
export function isWorthWriting(run: Run, state: LadderState): boolean {
  return state.summary !== undefined || masksSuffice(run, state) || isBestTry(run, state);
}

/** An automatic run is done at its goal; a manual one if the masks alone made the rest fit its budget. */
export function masksSuffice(run: Run, state: LadderState): boolean {
  if (state.view.edits.length === 0) return false;
  if (run.reason !== "manual") return isReached(state, run.goalTokens);
  return state.plan?.status === "nothing-to-compact" && run.start.tokens > run.span.keepTokens;
}

/** If no request would be sent otherwise, edits that missed the goal are better than an error. */
function isBestTry(run: Run, { view, tokens }: LadderState): boolean {
  const { reason, start } = run;
  const isForced =
    reason === "overflow" || (reason === "threshold" && isUnsendable(start.tokens, run.sendableTokens));
  return isForced && view.edits.length > 0 && tokens < start.tokens;
}

/** True for a context so far above the window that no request with it would be sent. */
function isUnsendable(tokens: number, sendableTokens = Number.POSITIVE_INFINITY): boolean {
  return tokens > sendableTokens;
}

/** True if the plan needs a summary that is not made yet. */
export function needsSummary({ plan, summary }: LadderState): boolean {
  return plan?.status === "planned" && summary === undefined;
}

/** The state after a rung, or the former one with the failure. @throws as `climb` does */
async function tryRung(rung: Rung, state: LadderState, run: Run): Promise<LadderState> {
  try {
    const next = await rung.attempt(state, run);
    // Carried texts of extensions alone change nothing.
    if (next.view === state.view && next.summary === state.summary) return next;
    if (next.summary !== undefined && isEmptySummary(next.summary.draft.prose))
      throw new SummaryFailure("empty", "The summary is empty.");
    if (next.tokens < state.tokens || mayGrow(state, next, run)) return { ...next, rung: rung.name };
    throw new SummaryFailure("no-shorter", noShorterText(run, state, next));
  } catch (error) {
    if (error instanceof CompactionCancelled || BonsaiError.is(error)) throw error;
    if (run.signal.aborted) throw new CompactionCancelled("");
    const overflow = error instanceof SummaryFailure && (error.overflow || error.kind === "does-not-fit");
    const failure = { rung: rung.name, message: messageOf(error), cause: error, overflow };
    return { ...state, failures: [...state.failures, failure] };
  }
}

/** Gives the sizes of whole contexts, like every other size before and after a compaction. */
export function noShorterText({ size }: Run, before: LadderState, after: LadderState): string {
  const [from, to] = [before, after].map(({ tokens }) => tokenDigits(totalAfter(size, tokens), true));
  return `It would not shrink the context: ${from} tokens before, ${to} after.`;
}

/** The headings alone make a summary of a few messages longer than the messages. */
const MAX_EXTRA_TOKENS = 500;

/** True for an extension's summary, and for a manual summary of a model that is only a little longer. */
export function mayGrow(before: LadderState, { summary, tokens }: LadderState, run: Run): boolean {
  if (summary === undefined) return false;
  const { rung } = summary.draft;
  if (rung === "extension" || run.mayGrow) return true;
  return run.reason === "manual" && isModelRung(rung) && tokens - before.tokens <= MAX_EXTRA_TOKENS;
}

/** Masks old outputs and shortens outputs of user commands. An extension may veto this, or keep some outputs. */
export const maskRung: Rung = {
  name: "mask",
  async attempt(state, run) {
    const masks = masksFor(state, run);
    if (masks.length === 0) return state;
    const { cancel, keep = [] } = await decidedMasks(masks, run);
    return cancel ? state : withMasks(state, masks, keep);
  },
};

/** A masked output, or a shortened output of a user command. */
interface MaskedItem {
  item: ViewItem;
  edit: PlannedEdit;
  freedTokens: number;
}

/** As in opencode: with one request, all results belong to the current task. */
const MIN_USER_TURNS = 2;

/**
 * Protects the newest `protectTokens` of outputs of tools and user commands. Masks the output that crosses this limit
 * and all older ones, if that frees at least `minimumTokens` and the context has two user messages. Shortens the output
 * of a user command to its share, however new it is. Unanswered outputs count, but are neither masked nor shortened.
 * @returns the masked outputs, oldest first, then the shortened ones
 */
export function masksFor({ view }: LadderState, { settings, span }: Run): readonly MaskedItem[] {
  const { enabled, protectTokens, minimumTokens } = settings.mask;
  if (!enabled) return [];
  const { items, estimator } = view;
  const answered = items.slice(0, Math.max(0, latestAnswer(items.map(({ message }) => message))));
  const isOneTask = items.filter(({ message }) => message.role === "user").length < MIN_USER_TURNS;
  const old = isOneTask ? [] : oldOutputs(items, answered.length, protectTokens);
  const masks = old
    .map((item) =>
      withEdit(item, { entryId: item.entryId, kind: "mask", content: MASK_PLACEHOLDER }, estimator),
    )
    .filter(({ freedTokens }) => freedTokens > 0);
  const masked = freedBy(masks) < minimumTokens ? [] : masks;
  const maskedNow = new Set(masked.map(({ item }) => item));
  const shortened = answered
    .filter((item) => item.message.role === "bashExecution" && !maskedNow.has(item))
    .flatMap((item) => shortenedItem(item, span.commandTokens, estimator));
  return [...masked, ...shortened];
}

/** The unmasked outputs among the first `answered` items, from the one on that crosses the protected tokens. */
function oldOutputs(items: readonly ViewItem[], answered: number, protectTokens: number): ViewItem[] {
  let seenTokens = 0;
  const found: ViewItem[] = [];
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index]!;
    if (!isOutput(item.message)) continue;
    seenTokens += item.tokens;
    if (index < answered && seenTokens > protectTokens && !isMasked(item.message)) found.push(item);
  }
  return found.reverse();
}

function freedBy(masks: readonly MaskedItem[]): number {
  return masks.reduce((sum, { freedTokens }) => sum + freedTokens, 0);
}

function withEdit(item: ViewItem, edit: PlannedEdit, estimator: TokenEstimator): MaskedItem {
  const [edited] = withEdits({ items: [item], edits: [], estimator }, [edit]).items;
  return { item, edit, freedTokens: item.tokens - edited!.tokens };
}

/** Factor above its share from which an output is shortened: estimates vary. */
const WORTH_SHORTENING = 1.25;
/** Each try is this much shorter: characters per token differ by script and language. */
const CLOSER = 0.9;
/** Shorter outputs are no use. A long command is not cut, so the share may not be reached. */
const SHORTEST_CHARS = 400;

function shortenedItem(item: ViewItem, maxTokens: number, estimator: TokenEstimator): MaskedItem[] {
  if (item.tokens <= maxTokens * WORTH_SHORTENING) return [];
  for (let chars = maxTokens * 4; ; chars *= CLOSER) {
    const [edit] = truncated(item, Math.floor(chars));
    if (edit === undefined) return [];
    const shortened = withEdit(item, edit, estimator);
    if (item.tokens - shortened.freedTokens <= maxTokens || chars < SHORTEST_CHARS)
      return shortened.freedTokens > 0 ? [shortened] : [];
  }
}

async function decidedMasks(
  masks: readonly MaskedItem[],
  { lifecycle, reason, signal, size }: Run,
): Promise<{ cancel?: boolean; keep?: readonly string[] }> {
  const results = masks.map(({ item: { entryId, message, tokens } }) => ({
    entryId,
    toolName: message.role === "toolResult" ? message.toolName : "",
    tokens: size.ofEstimate(tokens),
  }));
  const type = "session_before_mask" as const;
  const payload = { type, results, freedTokens: size.ofEstimate(freedBy(masks)), reason, signal };
  const decision = await lifecycle?.decide(type, payload, { signal });
  return decision?.result ?? {};
}

function withMasks(
  state: LadderState,
  masks: readonly MaskedItem[],
  keep: readonly string[] = [],
): LadderState {
  const kept = new Set(keep);
  return edited(
    state,
    masks.map(({ edit }) => edit).filter(({ entryId }) => !kept.has(entryId)),
  );
}

/** The state after the mask rung, without asking extensions. */
export function maskedState(state: LadderState, run: Run): LadderState {
  const masks = masksFor(state, run);
  return masks.length === 0 ? state : { ...withMasks(state, masks), rung: maskRung.name };
}

/** Lengths of shortened tool results, in characters. The longest sufficient one is used. */
const TRUNCATED_CHARS = [64_000, 32_000, 16_000, 8_000, 4_000, 2_000];
/** After an overflow, or for a request that would not be sent, an error is worse than a short result. */
const FORCED_CHARS = [...TRUNCATED_CHARS, 1_000, 500, 200];

const dropMediaRung: Rung = {
  name: "media",
  attempt(state, run) {
    if (!mayLose(state, run)) return state;
    return edited(state, state.view.items.filter(hasMedia).map(withoutMedia));
  },
};

/**
 * Shortens the remaining tool results and command outputs to head and tail, then, if needed, pasted text. Unseen
 * results come last; a threshold run shortens them only if they would not fit the window.
 */
const truncateRung: Rung = {
  name: "truncate",
  attempt(state, run) {
    if (!mayLose(state, run)) return state;
    let next = state;
    const isForced = run.reason === "overflow" || isUnsendable(state.tokens, run.sendableTokens);
    const lengths = isForced ? FORCED_CHARS : TRUNCATED_CHARS;
    const latest = state.view.items.findLast(({ message }) => message.role === "user");
    for (const { of, latestChars, goalTokens } of passes(state, run)) {
      for (const chars of lengths) {
        if (next.tokens <= goalTokens) break;
        const charsOf = (item: ViewItem) => (item === latest ? Math.max(chars, latestChars) : chars);
        next = edited(
          next,
          of.flatMap((item) => truncated(item, charsOf(item))),
        );
      }
    }
    return next;
  },
};

/** After an overflow, minimum length of the user's latest request. */
const MIN_REQUEST_CHARS = 1_000;

interface Pass {
  of: readonly ViewItem[];
  /** Minimum length of the latest request. */
  latestChars: number;
  goalTokens: number;
}

function passes(state: LadderState, run: Run): Pass[] {
  const { thresholdTokens: goalTokens = 0, windowShareTokens = goalTokens, reason, budgets } = run;
  const { items } = state.view;
  const seen = latestAnswer(items.map(({ message }) => message)) + 1;
  const atMost = reason === "overflow" ? goalTokens : Math.max(goalTokens, windowShareTokens);
  const cuts: Pass[] = [
    { of: items.slice(0, seen).filter(hasOutput), latestChars: 0, goalTokens },
    { of: items.slice(seen).filter(hasOutput), latestChars: 0, goalTokens: atMost },
  ];
  // Messages of the user are shortened only if a summary exists and the kept part alone is too large.
  if (state.summary === undefined) return cuts;
  const of = items.filter((item) => roleTraits(item.message).mayBeCut && !hasOutput(item));
  cuts.push({ of, latestChars: latestRequestChars(budgets), goalTokens: atMost });
  if (reason === "overflow") cuts.push({ of, latestChars: MIN_REQUEST_CHARS, goalTokens: atMost });
  return cuts;
}

/**
 * True after an overflow, for a context that would not be sent, and if a summary did not bring the context below the
 * threshold.
 */
function mayLose(state: LadderState, run: Run): boolean {
  if (run.reason !== "threshold") return run.reason === "overflow";
  const isTooLarge = state.tokens > (run.thresholdTokens ?? 0);
  return (state.summary !== undefined && isTooLarge) || isUnsendable(state.tokens, run.sendableTokens);
}

function edited(state: LadderState, edits: readonly PlannedEdit[]): LadderState {
  const view = withEdits(state.view, edits);
  return view === state.view ? state : { ...state, view, tokens: viewTokens(view.items) };
}

function hasOutput({ message }: ViewItem): boolean {
  return isOutput(message);
}

function hasMedia({ message }: ViewItem): boolean {
  return roleTraits(message).mayBeCut === true && contentOf(message).some((block) => block.type === "image");
}

function withoutMedia(item: ViewItem): PlannedEdit {
  const content = contentOf(item.message).map((block): UserContent => {
    return block.type === "image" ? { type: "text", text: imageMark(block) } : block;
  });
  return { entryId: item.entryId, kind: "media", content };
}

/** The ladder: cheapest and least lossy step first. */
export const ladderRungs: readonly Rung[] = [
  maskRung,
  extensionRung,
  providerRung,
  summariseRung,
  chunksRung,
  digestRung,
  dropMediaRung,
  truncateRung,
];
