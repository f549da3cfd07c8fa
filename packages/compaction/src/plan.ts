import { type Message, type TokenEstimator, toolCalls } from "@bonsai-agent/messages";
import type { CompactionEntry } from "@bonsai-agent/session";
import type { CompactionSettings } from "./settings.ts";
import {
  type ContextView,
  isMasked,
  isOutput,
  MASK_PLACEHOLDER,
  type PlannedEdit,
  truncated,
  type ViewItem,
  viewTokens,
  withEdits,
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
  /** True when less is to be kept than that compaction was told to keep. */
  keepsLess: boolean;
  /** Recent tokens to keep. */
  keepTokens: number;
  /** A command of the user and its output count at most this. */
  commandTokens: number;
  /** A span that holds fewer tokens is left as it is: its summary would not be shorter. */
  leastTokens: number;
}

/**
 * Divides the context into what is summarised and what is kept.
 *
 * Invariant: history, turn prefix and kept are the projection without the previous summary, disjoint and in order.
 */
export function planSpan({
  view,
  previous,
  justCompacted,
  keepsLess,
  keepTokens,
  commandTokens,
  leastTokens,
}: PlanOptions): CompactionPlan {
  const items = view.items.filter((item) => item.message.role !== "compactionSummary");
  if (justCompacted && !keepsLess) return unplanned("already-compacted", items, previous);
  const cut = findCut({
    messages: items.map((item) => item.message),
    tokens: items.map(({ message, tokens }) =>
      message.role === "bashExecution" ? Math.min(tokens, commandTokens) : tokens,
    ),
    keepTokens,
  });
  if (cut.index === 0 || viewTokens(items.slice(0, cut.index)) < leastTokens) {
    return unplanned(justCompacted ? "already-compacted" : "nothing-to-compact", items, previous);
  }
  const historyEnd = cut.turnStart ?? cut.index;
  return {
    status: "planned",
    previous,
    history: items.slice(0, historyEnd),
    turnPrefix: items.slice(historyEnd, cut.index),
    kept: items.slice(cut.index),
    splitTurn: cut.turnStart !== undefined,
    firstKeptEntryId: items[cut.index]?.entryId ?? null,
  };
}

function unplanned(
  status: "nothing-to-compact" | "already-compacted",
  kept: readonly ViewItem[],
  previous: CompactionEntry | undefined,
): CompactionPlan {
  const firstKeptEntryId = kept[0]?.entryId ?? null;
  return { status, previous, history: [], turnPrefix: [], kept, splitTurn: false, firstKeptEntryId };
}

/** Where a list of messages is divided. */
interface Cut {
  /** The first kept message; the list's length when nothing is kept, 0 when everything is. */
  index: number;
  /** Where the turn that the cut splits begins; undefined for a cut between turns. */
  turnStart: number | undefined;
}

interface FindCutOptions {
  messages: readonly Message[];
  /** Tokens of each message. */
  tokens: readonly number[];
  /** How much of the end is kept, in tokens. */
  keepTokens: number;
}

/**
 * Walks backwards until `keepTokens` is reached; the cut is the nearest legal place at or after the message
 * that reached it. Where there is none before the end, the cut is the nearest legal place before it, so that
 * the end keeps its owner. Where that would keep everything (the first message alone reaches the budget), the cut
 * comes behind the first message. A budget of 0 keeps nothing.
 *
 * Invariant: results that the model has not seen are kept, with the answer that asked for them, whatever came behind.
 */
function findCut(options: FindCutOptions): Cut {
  const index = cutIndex(options);
  return { index, turnStart: turnStart(options.messages, index) };
}

function cutIndex({ messages, tokens, keepTokens }: FindCutOptions): number {
  const end = messages.length;
  const unseen = unseenResultsFrom(messages) ?? end;
  if (keepTokens <= 0) return unseen;
  const reached = reachedAt(tokens, keepTokens);
  if (reached === undefined) return 0;
  const legal = legalCuts(messages);
  const firstIsAll = reached === 0 && (tokens[0] ?? 0) >= keepTokens;
  const after = legal.indexOf(true, firstIsAll ? 1 : reached);
  const cut = after >= 0 && after < end ? after : Math.max(0, legal.lastIndexOf(true, reached));
  return Math.min(cut, unseen);
}

function reachedAt(tokens: readonly number[], keepTokens: number): number | undefined {
  let kept = 0;
  for (let index = tokens.length - 1; index >= 0; index--) {
    kept += tokens[index] ?? 0;
    if (kept >= keepTokens) return index;
  }
  return undefined;
}

/** Where the turn begins that a cut at this place splits; undefined where it splits none. */
export function turnStart(messages: readonly Message[], cut: number): number | undefined {
  const first = messages[cut];
  if (first === undefined || cut === 0 || startsTurn(first)) return undefined;
  const start = messages.findLastIndex((message, index) => index < cut && startsTurn(message));
  return start < 0 ? undefined : start;
}

/**
 * Where the kept part may begin: `legal[i]` is true when a cut before message `i` is legal. The last place,
 * behind all messages, is legal unless a result is missing there only by the cut.
 *
 * Invariant: a legal cut never stands between a tool call and any of its results.
 */
export function legalCuts(messages: readonly Message[]): boolean[] {
  const torn = tornPlaces(messages);
  const legal = messages.map((message, index) => !torn[index] && startsKeptPart(message));
  legal.push(true);
  return legal;
}

function startsKeptPart(message: Message): boolean {
  if (message.role === "assistant") return !isFailedAnswer(message);
  return message.role !== "toolResult" && message.role !== "compactionSummary" && message.role !== "system";
}

/** True at each place that lies between a call and its last result. Linear: marks where pairs open and close. */
function tornPlaces(messages: readonly Message[]): boolean[] {
  const change = new Int32Array(messages.length + 1);
  for (const [call, result] of callSpans(messages)) {
    change[call + 1]! += 1;
    change[result + 1]! -= 1;
  }
  let open = 0;
  return messages.map((_, index) => {
    open += change[index]!;
    return open > 0;
  });
}

/** Where each call and its result stand; a result belongs to the nearest earlier call of its id. */
function callSpans(messages: readonly Message[]): Array<[call: number, result: number]> {
  const lastCall = new Map<string, number>();
  const spans: Array<[number, number]> = [];
  messages.forEach((message, index) => {
    for (const call of toolCalls(message)) lastCall.set(call.id, index);
    const call = message.role === "toolResult" ? lastCall.get(message.toolCallId) : undefined;
    if (call !== undefined) spans.push([call, index]);
  });
  return spans;
}

/**
 * The single predicate for "starts a turn": a user message, or what stands in for one. A compaction's
 * summary does not: what follows it may be the rest of a turn that was split.
 */
function startsTurn(message: Message): boolean {
  switch (message.role) {
    case "user":
    case "bashExecution":
    case "custom":
    case "branchSummary":
      return true;
    default:
      return false;
  }
}

/**
 * The answer whose results the model has not seen; undefined where there is none. Once the user has spoken after a
 * request with them failed, they are the past like all else: kept for good, they could block every way on.
 */
function unseenResultsFrom(messages: readonly Message[]): number | undefined {
  const answer = latestAnswer(messages);
  const behind = messages.slice(answer + 1);
  const failed = behind.findIndex(isFailedAnswer);
  const isGivenUp = failed >= 0 && behind.slice(failed).some(startsTurn);
  const hasResults = behind.some((each) => each.role === "toolResult");
  return answer >= 0 && hasResults && !isGivenUp ? answer : undefined;
}

/**
 * Where what the model has not answered yet begins, results, prompts and whatever else came behind its latest answer;
 * the list's length when it has answered everything. A request that failed and was followed by another is the past.
 */
export function unseenFrom(messages: readonly Message[]): number {
  const results = unseenResultsFrom(messages);
  if (results !== undefined) return results;
  const lastTurn = messages.findLastIndex(startsTurn);
  const given = messages.findLastIndex((each, index) => index < lastTurn && each.role === "assistant");
  return legalCuts(messages).indexOf(true, Math.max(given, latestAnswer(messages)) + 1);
}

/** The latest that did not fail; -1 where there is none. */
function latestAnswer(messages: readonly Message[]): number {
  return messages.findLastIndex((each) => each.role === "assistant" && !isFailedAnswer(each));
}

/** An answer that failed or was stopped: what came before it is still to be answered, and nothing goes on from it. */
export function isFailedAnswer(message: Message): boolean {
  return message.role === "assistant" && (message.stopReason === "error" || message.stopReason === "aborted");
}

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
