import type { TokenEstimator } from "@bonsai-agent/messages";
import {
  type ContextView,
  isMasked,
  isOutput,
  MASK_PLACEHOLDER,
  type PlannedEdit,
  truncated,
  type ViewItem,
  withEdits,
} from "./context-view.ts";
import { isFailedAnswer } from "./failed-answer.ts";
import type { CompactionSettings } from "./settings-schema.ts";

/** Which old outputs to mask, and which to shorten. */
export interface MaskPlan {
  /** Oldest first; empty when masking is not worth it. */
  items: readonly ViewItem[];
  /** Commands of the user that printed more than they may take of what is kept, with what is left of it. */
  shortened: readonly ShortenedItem[];
  freedTokens: number;
}

interface ShortenedItem {
  item: ViewItem;
  edit: PlannedEdit;
  freedTokens: number;
}

/** `mask.mode: "local"`: for small models, mask early and often. */
const LOCAL = { protectTokens: 2_000, minimumTokens: 500 };
/** An output that is this little above its share is left: the next estimate may find it below. */
const WORTH_SHORTENING = 1.25;

/**
 * Newest to oldest, protects the newest `protectTokens` of outputs, of tools and of commands of the user; the one that
 * crosses and all older ones are masked, if that frees at least `minimumTokens` and the context has `minimumUserTurns`.
 * What a command printed is shortened to its share, however new it is. What the model has not answered yet counts, but is
 * neither masked nor shortened.
 */
export function planMasks(
  view: ContextView,
  settings: CompactionSettings["mask"],
  commandTokens: number,
): MaskPlan {
  if (!settings.enabled) return { items: [], shortened: [], freedTokens: 0 };
  const items = maskedItems(view, settings);
  const masked = new Set(items);
  const shortened = answeredItems(view.items)
    .filter((item) => item.message.role === "bashExecution" && !masked.has(item))
    .flatMap((item) => shortenedItem(item, commandTokens, view.estimator));
  const freedTokens =
    items.reduce((sum, item) => sum + freedByMask(item, view.estimator), 0) +
    shortened.reduce((sum, each) => sum + each.freedTokens, 0);
  return { items, shortened, freedTokens };
}

export function isWorthwhile({ items, shortened }: MaskPlan): boolean {
  return items.length + shortened.length > 0;
}

/** The edits that carry out a plan, but for the entries that somebody wants kept. */
export function maskEdits(plan: MaskPlan, keep: readonly string[] = []): PlannedEdit[] {
  const kept = new Set(keep);
  return [...plan.items.map(mask), ...plan.shortened.map(({ edit }) => edit)].filter(
    (edit) => !kept.has(edit.entryId),
  );
}

function mask({ entryId }: ViewItem): PlannedEdit {
  return { entryId, kind: "mask", content: MASK_PLACEHOLDER };
}

function maskedItems(view: ContextView, settings: CompactionSettings["mask"]): ViewItem[] {
  const userTurns = view.items.filter((item) => item.message.role === "user").length;
  if (userTurns < settings.minimumUserTurns) return [];
  const { protectTokens, minimumTokens } = settings.mode === "local" ? LOCAL : settings;
  const freed = (item: ViewItem) => freedByMask(item, view.estimator);
  const items = unprotected(view.items, protectTokens).filter((item) => freed(item) > 0);
  return items.reduce((sum, item) => sum + freed(item), 0) < minimumTokens ? [] : items;
}

/** The command itself stays. */
function freedByMask(item: ViewItem, estimator: TokenEstimator): number {
  return item.tokens - tokensAfter(item, mask(item), estimator);
}

function tokensAfter(item: ViewItem, edit: PlannedEdit, estimator: TokenEstimator): number {
  return withEdits({ items: [item], edits: [], estimator }, [edit]).items[0]!.tokens;
}

function shortenedItem(item: ViewItem, mostTokens: number, estimator: TokenEstimator): ShortenedItem[] {
  if (item.tokens <= mostTokens * WORTH_SHORTENING) return [];
  let [edit] = truncated(item, mostTokens * 4);
  for (let chars = mostTokens * 4; edit !== undefined; chars *= CLOSER) {
    const freedTokens = item.tokens - tokensAfter(item, edit, estimator);
    if (item.tokens - freedTokens <= mostTokens || chars < SHORTEST_CHARS)
      return freedTokens > 0 ? [{ item, edit, freedTokens }] : [];
    [edit] = truncated(item, Math.floor(chars * CLOSER));
  }
  return [];
}

/** Scripts and languages differ in how many characters a token has. */
const CLOSER = 0.9;
/** A long command is not cut, so that its share may not be reached. */
const SHORTEST_CHARS = 400;

/** Everything before the last good answer. */
function answeredItems(items: readonly ViewItem[]): readonly ViewItem[] {
  const answer = items.findLastIndex(
    ({ message }) => message.role === "assistant" && !isFailedAnswer(message),
  );
  return items.slice(0, Math.max(0, answer));
}

function unprotected(items: readonly ViewItem[], protectTokens: number): ViewItem[] {
  const answered = answeredItems(items).length;
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
