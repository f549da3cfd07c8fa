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

/** The division of the context by a compaction. Lists are oldest first. */
export interface CompactionPlan {
  status: "planned" | "nothing-to-compact" | "already-compacted";
  /** The compaction whose summary is updated. */
  previous: CompactionEntry | undefined;
  /** Summarised as history. */
  history: readonly ViewItem[];
  /** The early part of a split turn, which has its own summary. */
  turnPrefix: readonly ViewItem[];
  kept: readonly ViewItem[];
  splitTurn: boolean;
  /** Null keeps nothing. */
  firstKeptEntryId: string | null;
}

export interface PlanOptions {
  view: ContextView;
  /** The compaction whose summary begins the view. */
  previous: CompactionEntry | undefined;
  /** True if the model sees nothing newer than that compaction. */
  justCompacted: boolean;
  /** True if the budget is smaller than that compaction's. */
  keepsLess: boolean;
  /** Budget of kept tokens. */
  keepTokens: number;
  /** Maximum tokens that a user command and its output count. */
  commandTokens: number;
  /** A smaller span is not summarised: its summary would not be shorter. */
  minTokens: number;
  /** A chosen legal cut; null keeps nothing. Default: by the budgets. */
  firstKeptEntryId?: string | null | undefined;
}

/**
 * Divides the context into summarised and kept messages.
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

/** Cuts a context before an item: 0 keeps everything, the end keeps nothing. */
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

/** The start of the turn that this cut splits, if it splits one. */
function turnStart(items: readonly ViewItem[], cut: number): number | undefined {
  const first = items[cut];
  if (first === undefined || cut === 0 || startsTurn(first.message)) return undefined;
  const start = items.findLastIndex(({ message }, index) => index < cut && startsTurn(message));
  return start < 0 ? undefined : start;
}

/** A masked output, or a shortened output of a user command. */
export interface MaskedItem {
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

/** Masks the output; a command itself stays. */
function maskOf({ entryId }: ViewItem): PlannedEdit {
  return { entryId, kind: "mask", content: MASK_PLACEHOLDER };
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
  let [edit] = truncated(item, maxTokens * 4);
  for (let chars = maxTokens * 4; edit !== undefined; chars *= CLOSER) {
    const shortened = withEdit(item, edit, estimator);
    if (item.tokens - shortened.freedTokens <= maxTokens || chars < SHORTEST_CHARS)
      return shortened.freedTokens > 0 ? [shortened] : [];
    [edit] = truncated(item, Math.floor(chars * CLOSER));
  }
  return [];
}

/** Number of items before the latest good answer. */
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
