import type { TokenEstimator } from "@bonsai-agent/messages";
import type { CompactionEntry } from "@bonsai-agent/session";
import { isMasked, isOutput, MASK_PLACEHOLDER } from "@bonsai-agent/session/host";
import type { CompactionSettings } from "../settings.ts";
import { cutIndex, latestAnswer, startsTurn } from "./cut.ts";
import {
  type ContextView,
  type PlannedEdit,
  truncated,
  type ViewItem,
  viewTokens,
  withEdits,
  withoutSummary,
} from "./view.ts";

/** What a compaction would do with the context, as data. Ids of entries; oldest first. */
export interface CompactionPlan {
  status: "planned" | "nothing-to-compact" | "already-compacted";
  /** The compaction whose summary this one updates. */
  previous: CompactionEntry | undefined;
  /** Summarised as history. */
  history: readonly ViewItem[];
  /** The early part of a split turn: summarised for itself. */
  turnPrefix: readonly ViewItem[];
  kept: readonly ViewItem[];
  splitTurn: boolean;
  /** `null` when nothing is kept. */
  firstKeptEntryId: string | null;
}

export interface PlanOptions {
  view: ContextView;
  /** The compaction whose summary stands first in the view. */
  previous: CompactionEntry | undefined;
  /** True when nothing that the model sees came after that compaction. */
  justCompacted: boolean;
  /** True when less is to be kept than that compaction had to keep. */
  keepsLess: boolean;
  /** Recent tokens to keep. */
  keepTokens: number;
  /** A command of the user and its output count at most this. */
  commandTokens: number;
  /** A span that holds fewer tokens is left as it is: its summary would not be shorter. */
  minTokens: number;
  /** A cut of somebody's choice, which is legal; null: nothing is kept. Default: by the budgets. */
  firstKeptEntryId?: string | null | undefined;
}

/**
 * Divides the context into what is summarised and what is kept.
 *
 * Invariant: history, turn prefix and kept are the projection without the previous summary, disjoint and in order.
 */
export function planSpan(options: PlanOptions): CompactionPlan {
  const { previous, justCompacted, firstKeptEntryId } = options;
  const items = withoutSummary(options.view.items);
  if (firstKeptEntryId !== undefined) {
    const at = items.findIndex(({ entryId }) => entryId === firstKeptEntryId);
    return { status: "planned", previous, ...splitAt(items, at < 0 ? items.length : at) };
  }
  const index = justCompacted && !options.keepsLess ? 0 : cutIndex(items, options);
  if (index > 0 && viewTokens(items.slice(0, index)) >= options.minTokens)
    return { status: "planned", previous, ...splitAt(items, index) };
  const status = justCompacted ? "already-compacted" : "nothing-to-compact";
  return { status, previous, ...splitAt(items, 0) };
}

/** The parts of a context that is cut before an item: at 0 all of it is kept, at the end nothing. */
export function splitAt(
  items: readonly ViewItem[],
  index: number,
): Omit<CompactionPlan, "status" | "previous"> {
  const turn = turnStart(items, index);
  const historyEnd = turn ?? index;
  return {
    history: items.slice(0, historyEnd),
    turnPrefix: items.slice(historyEnd, index),
    kept: items.slice(index),
    splitTurn: turn !== undefined,
    firstKeptEntryId: items[index]?.entryId ?? null,
  };
}

/** Where the turn begins that a cut at this place splits; undefined where it splits none. */
function turnStart(items: readonly ViewItem[], cut: number): number | undefined {
  const first = items[cut];
  if (first === undefined || cut === 0 || startsTurn(first.message)) return undefined;
  const start = items.findLastIndex(({ message }, index) => index < cut && startsTurn(message));
  return start < 0 ? undefined : start;
}

/** An old output that is masked, or one of a command of the user that is shortened. */
export interface MaskedItem {
  item: ViewItem;
  edit: PlannedEdit;
  freedTokens: number;
}

/** As in opencode: in a session with one request, all results belong to the current task. */
const MIN_USER_TURNS = 2;

/**
 * Newest to oldest, protects the newest `protectTokens` of outputs, of tools and of commands of the user; the one that
 * crosses and all older ones are masked, if that frees at least `minimumTokens` and the context has two user messages.
 * What a command printed is shortened to its share, however new it is. What the model has not answered yet counts, but is
 * neither masked nor shortened.
 * @returns the masked ones oldest first, then the shortened ones; none where it is not worth it
 */
export function planMasks(
  view: ContextView,
  settings: CompactionSettings["mask"],
  commandTokens: number,
): readonly MaskedItem[] {
  if (!settings.enabled) return [];
  const masked = maskedItems(view, settings);
  const isMaskedNow = new Set(masked.map(({ item }) => item));
  const shortened = view.items
    .slice(0, answeredCount(view.items))
    .filter((item) => item.message.role === "bashExecution" && !isMaskedNow.has(item))
    .flatMap((item) => shortenedItem(item, commandTokens, view.estimator));
  return [...masked, ...shortened];
}

export function freedBy(masks: readonly MaskedItem[]): number {
  return masks.reduce((sum, { freedTokens }) => sum + freedTokens, 0);
}

function maskedItems(view: ContextView, settings: CompactionSettings["mask"]): MaskedItem[] {
  const userTurns = view.items.filter((item) => item.message.role === "user").length;
  if (userTurns < MIN_USER_TURNS) return [];
  const { protectTokens, minimumTokens } = settings;
  const masked = unprotected(view.items, protectTokens)
    .map((item) => withEdit(item, maskOf(item), view.estimator))
    .filter(({ freedTokens }) => freedTokens > 0);
  return freedBy(masked) < minimumTokens ? [] : masked;
}

/** The command itself stays. */
function maskOf({ entryId }: ViewItem): PlannedEdit {
  return { entryId, kind: "mask", content: MASK_PLACEHOLDER };
}

function withEdit(item: ViewItem, edit: PlannedEdit, estimator: TokenEstimator): MaskedItem {
  const [edited] = withEdits({ items: [item], edits: [], estimator }, [edit]).items;
  return { item, edit, freedTokens: item.tokens - edited!.tokens };
}

/** An output that is this little above its share is left: the next estimate may find it below. */
const WORTH_SHORTENING = 1.25;
/** Scripts and languages differ in how many characters a token has. */
const CLOSER = 0.9;
/** A long command is not cut, so that its share may not be reached. */
const SHORTEST_CHARS = 400;

function shortenedItem(item: ViewItem, mostTokens: number, estimator: TokenEstimator): MaskedItem[] {
  if (item.tokens <= mostTokens * WORTH_SHORTENING) return [];
  let [edit] = truncated(item, mostTokens * 4);
  for (let chars = mostTokens * 4; edit !== undefined; chars *= CLOSER) {
    const shortened = withEdit(item, edit, estimator);
    if (item.tokens - shortened.freedTokens <= mostTokens || chars < SHORTEST_CHARS)
      return shortened.freedTokens > 0 ? [shortened] : [];
    [edit] = truncated(item, Math.floor(chars * CLOSER));
  }
  return [];
}

/** How many items stand before the last good answer. */
function answeredCount(items: readonly ViewItem[]): number {
  return Math.max(0, latestAnswer(items.map(({ message }) => message)));
}

function unprotected(items: readonly ViewItem[], protectTokens: number): ViewItem[] {
  const answered = answeredCount(items);
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
