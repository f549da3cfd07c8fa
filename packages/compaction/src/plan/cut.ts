import { BonsaiError, type Message } from "@bonsai-agent/messages";
import { CallPairs } from "@bonsai-agent/messages/host";
import type { CompactionEntry, Session } from "@bonsai-agent/session";
import { type ReadContextOptions, readContext } from "./context.ts";
import { nothingToMakeAnew, readOriginals } from "./originals.ts";
import { type ContextView, roleTraits, type ViewItem, viewOf, viewTokens, withoutSummary } from "./view.ts";

/** The division of the context by a compaction. Lists are oldest first. */
export interface CompactionPlan {
  status: "planned" | "nothing-to-compact" | "already-compacted";
  /** The compaction whose summary is updated. */
  previous: CompactionEntry | undefined;
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

/**
 * Returns the index of the first kept message. Adds sizes from the end until `keepTokens` is reached and takes the next
 * legal cut. If no legal cut follows, it takes the last legal one before, so that a call stays with its results. If the
 * first message alone fills the budget, the cut is after it. A budget of 0 keeps nothing.
 *
 * Invariant: tool results that the model has not seen are kept, together with their call.
 */
export function cutIndex(
  items: readonly Pick<ViewItem, "message" | "tokens">[],
  { keepTokens, commandTokens }: { keepTokens: number; commandTokens: number },
): number {
  const messages = items.map((item) => item.message);
  const tokens = items.map((item) =>
    item.message.role === "bashExecution" ? Math.min(item.tokens, commandTokens) : item.tokens,
  );
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

/**
 * `legal[i]`: a cut before message `i` is legal. The last place, after all messages, is always legal.
 *
 * Invariant: a legal cut is never between a tool call and any of its results.
 */
export function legalCuts(messages: readonly Message[]): boolean[] {
  return [...placeFaults(messages).map((fault) => fault === undefined), true];
}

/** For each message, why the kept part may not begin with it, in a sentence. */
function placeFaults(messages: readonly Message[]): Array<string | undefined> {
  const isInCall = callParts(messages);
  return messages.map((message, index) => {
    if (message.role === "toolResult")
      return "It is a tool result. A result stays with the answer that called the tool.";
    if (isInCall[index]) return "It is between a tool call and its result. These stay together.";
    const mayStartKept = roleTraits(message).mayStartKept === true && !isFailedAnswer(message);
    return mayStartKept ? undefined : "It is a failed or stopped answer.";
  });
}

/** The single predicate for "starts a turn". */
export function startsTurn(message: Message): boolean {
  return roleTraits(message).startsTurn === true;
}

/** True for each message after a tool call, up to its result: a cut before it would separate them. Linear. */
function callParts(messages: readonly Message[]): boolean[] {
  const change = new Int32Array(messages.length + 1);
  const pairs = new CallPairs();
  for (const [index, message] of messages.entries()) {
    const called = pairs.add(message);
    if (called === undefined) continue;
    change[called.callIndex + 1]! += 1;
    change[index + 1]! -= 1;
  }
  let open = 0;
  return messages.map((_, index) => {
    open += change[index]!;
    return open > 0;
  });
}

/**
 * The answer whose results the model has not seen. After a failed request and another message of the user, unseen
 * results count as seen: kept for good, they could block every compaction.
 */
function unseenResultsFrom(messages: readonly Message[]): number | undefined {
  const answer = latestAnswer(messages);
  const after = messages.slice(answer + 1);
  const failed = after.findIndex(isFailedAnswer);
  const isGivenUp = failed >= 0 && after.slice(failed).some(startsTurn);
  const hasResults = after.some((each) => each.role === "toolResult");
  return answer >= 0 && hasResults && !isGivenUp ? answer : undefined;
}

/**
 * The index of the first unanswered message, or the list's length. A failed request that was followed by another does
 * not count.
 */
export function unseenFrom(messages: readonly Message[]): number {
  const results = unseenResultsFrom(messages);
  if (results !== undefined) return results;
  const lastTurn = messages.findLastIndex(startsTurn);
  const given = messages.findLastIndex((each, index) => index < lastTurn && each.role === "assistant");
  return legalCuts(messages).indexOf(true, Math.max(given, latestAnswer(messages)) + 1);
}

/** The index of the latest good answer, or -1. */
export function latestAnswer(messages: readonly Message[]): number {
  return messages.findLastIndex((each) => each.role === "assistant" && !isFailedAnswer(each));
}

/** A failed or stopped answer: the messages before it are still unanswered. */
function isFailedAnswer(message: Message): boolean {
  return message.role === "assistant" && (message.stopReason === "error" || message.stopReason === "aborted");
}

/**
 * The cut of the compaction that is repeated, or the nearest legal one before it; null keeps nothing.
 * @throws BonsaiError `nothing_to_make_anew`
 */
export function formerCut(session: Session, leafId: string | null, view: ContextView): string | null {
  const items = withoutSummary(view.items);
  // The tail ends with the first kept entry of the former compaction.
  const kept = new Set(Array.from(session.tail(leafId), ({ id }) => id));
  const first = items.findIndex(({ entryId }) => kept.has(entryId));
  const messages = items.map(({ message }) => message);
  const before = Math.min(first < 0 ? items.length : first, unseenResultsFrom(messages) ?? items.length);
  const at = legalCuts(messages).lastIndexOf(true, before);
  if (at < 1)
    return nothingToMakeAnew(
      "This session does not contain the entries that the latest compaction summarised.",
    );
  return items[at]?.entryId ?? null;
}

/** An entry that the kept part may begin with. */
export interface CutPlace {
  entryId: string;
  /** Estimated tokens of the messages from it on. */
  keptTokens: number;
}

export interface CutOptions extends ReadContextOptions {
  /** True for the context that a repeated compaction would start from. Default: false. */
  replacesLatest?: boolean | undefined;
}

/**
 * The legal first kept entries, oldest first. Empty if nothing can be summarised.
 * @throws what reading the session throws
 */
export function cutPlaces(options: CutOptions): CutPlace[] {
  return legalPlaces(contextItems(options));
}

/**
 * Why the kept entries cannot start at an entry, in a sentence, and the nearest legal cut; undefined if they can.
 * @throws what reading the session throws
 */
export function cutRefusal(options: CutOptions & { firstKeptEntryId: string }) {
  const { session, leafId = session.leafId, firstKeptEntryId } = options;
  return refusalAt({ session, leafId, items: contextItems(options) }, firstKeptEntryId);
}

function contextItems(options: CutOptions): readonly ViewItem[] {
  if (options.replacesLatest) return withoutSummary(readOriginals(options).view.items);
  const { projection, estimator } = readContext(options);
  return withoutSummary(viewOf(projection, estimator).items);
}

interface CutContext {
  session: Session;
  leafId: string | null;
  /** Without an earlier summary. */
  items: readonly ViewItem[];
}

/** @throws BonsaiError `cut_not_allowed` */
export function checkChosenCut(context: CutContext, firstKeptEntryId: string): void {
  const refusal = refusalAt(context, firstKeptEntryId);
  if (refusal === undefined) return;
  const { reason, nearest } = refusal;
  throw new BonsaiError({
    code: "cut_not_allowed",
    message: `The kept entries cannot start at entry ${firstKeptEntryId}. ${reason}`,
    hint:
      nearest === undefined
        ? "The context is still too short to cut."
        : `The nearest possible start is entry ${nearest.entryId}.`,
  });
}

function refusalAt(
  { session, leafId, items }: CutContext,
  entryId: string,
): { reason: string; nearest: CutPlace | undefined } | undefined {
  const places = placesOf(items);
  const index = places.findIndex((place) => place.entryId === entryId);
  const { fault: reason } = places[index] ?? {};
  if (reason !== undefined) return { reason, nearest: nearestPlace(places, index) };
  if (index >= 0) return undefined;
  const path = session.path(leafId);
  const inView = new Map(items.map((item, at) => [item.entryId, at]));
  const onPath = pathAncestor(session, new Set(path.map(({ id }) => id)), entryId);
  const at = path.findIndex(({ id }) => id === onPath);
  const after = path.slice(Math.max(0, at)).find(({ id }) => inView.has(id));
  const nearest = nearestPlace(places, inView.get(after?.id ?? "") ?? items.length);
  if (onPath !== entryId) return { reason: "It is not on the current branch.", nearest };
  const isReplaced = at < path.findIndex(({ id }) => inView.has(id));
  return {
    reason: isReplaced
      ? "The latest compaction already replaced it."
      : "It is not a message in the model's context.",
    nearest,
  };
}

/** The entry itself, or its nearest ancestor on the path. */
function pathAncestor(session: Session, path: ReadonlySet<string>, entryId: string): string | undefined {
  const seen = new Set<string>();
  let id: string | null | undefined = entryId;
  while (typeof id === "string" && !path.has(id) && !seen.has(id)) {
    seen.add(id);
    id = session.entry(id)?.parentId;
  }
  return typeof id === "string" && path.has(id) ? id : undefined;
}

/** The legal cuts of items without an earlier summary, oldest first. */
export function legalPlaces(items: readonly ViewItem[]): CutPlace[] {
  return placesOf(items).flatMap(({ fault, ...place }) => (fault === undefined ? [place] : []));
}

/**
 * A place before each item. Every cut of `cutIndex` is one without a fault.
 *
 * Invariant: results that the model has not seen are kept.
 */
function placesOf(items: readonly ViewItem[]): Array<CutPlace & { fault: string | undefined }> {
  const messages = items.map(({ message }) => message);
  const unseen = unseenResultsFrom(messages) ?? messages.length;
  let keptTokens = viewTokens(items);
  return placeFaults(messages).map((fault, at) => {
    const { entryId, tokens } = items[at]!;
    const place = { entryId, keptTokens };
    keptTokens -= tokens;
    if (at === 0) return { ...place, fault: "No entry before it can be summarised." };
    return { ...place, fault: fault ?? (at > unseen ? UNSEEN : undefined) };
  });
}

const UNSEEN =
  "The model has not seen the tool results before it yet. They stay with the answer that called the tools.";

/** The legal cut nearest to an index; of two, the one that keeps more. */
function nearestPlace(places: ReturnType<typeof placesOf>, at: number): CutPlace | undefined {
  const legal = ({ fault }: { fault: string | undefined }) => fault === undefined;
  const before = places.findLastIndex((place, index) => index <= at && legal(place));
  const after = places.findIndex((place, index) => index >= at && legal(place));
  const isBefore = before >= 0 && (after < 0 || at - before <= after - at);
  return places[isBefore ? before : after];
}
