import { BonsaiError, type Message } from "@bonsai-agent/messages";
import { callResults } from "@bonsai-agent/messages/host";
import type { Entry, Session } from "@bonsai-agent/session";
import { type ReadContextOptions, readContext } from "./context.ts";
import { nothingToMakeAnew, readOriginals } from "./originals.ts";
import { type ContextView, roleTraits, type ViewItem, viewOf, withoutSummary } from "./view.ts";

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

/** Why the kept part may not begin at a place. */
export type CutFault = "nothing before" | "tool result" | "failed answer" | "torn pair" | "unseen";

function placeFaults(messages: readonly Message[]): Array<CutFault | undefined> {
  const torn = tornPlaces(messages);
  return messages.map((message, index) => {
    if (message.role === "toolResult") return "tool result";
    if (torn[index]) return "torn pair";
    const mayStartKept = roleTraits(message).mayStartKept === true && !isFailedAnswer(message);
    return mayStartKept ? undefined : "failed answer";
  });
}

/** The single predicate for "starts a turn". */
export function startsTurn(message: Message): boolean {
  return roleTraits(message).startsTurn === true;
}

/** True at each place between a call and its last result. Linear: marks where pairs open and close. */
function tornPlaces(messages: readonly Message[]): boolean[] {
  const change = new Int32Array(messages.length + 1);
  for (const { callIndex, resultIndex } of callResults(messages)) {
    change[callIndex + 1]! += 1;
    change[resultIndex + 1]! -= 1;
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
  const behind = messages.slice(answer + 1);
  const failed = behind.findIndex(isFailedAnswer);
  const isGivenUp = failed >= 0 && behind.slice(failed).some(startsTurn);
  const hasResults = behind.some((each) => each.role === "toolResult");
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

/** The last legal cut up to an index that keeps unseen results. */
export function legalCutBefore(messages: readonly Message[], index: number): number {
  const most = Math.min(index, unseenResultsFrom(messages) ?? messages.length);
  return legalCuts(messages).lastIndexOf(true, most);
}

/**
 * For each message, why a chosen cut before it is not legal. Every cut of `cutIndex` can be chosen.
 *
 * Invariant: results that the model has not seen are kept.
 */
export function cutFaults(messages: readonly Message[]): Array<CutFault | undefined> {
  const unseen = unseenResultsFrom(messages) ?? messages.length;
  return placeFaults(messages).map((fault, index) => {
    if (index === 0) return "nothing before";
    return fault ?? (index > unseen ? "unseen" : undefined);
  });
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
  const at = legalCutBefore(messages, first < 0 ? items.length : first);
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
  isAgain?: boolean | undefined;
}

/**
 * The legal first kept entries, oldest first. Empty if nothing can be summarised.
 * @throws what reading the session throws
 */
export function cutPlaces(options: CutOptions): CutPlace[] {
  return legalPlaces(contextItems(options));
}

/** Why the kept entries cannot start at an entry. */
export interface CutRefusal {
  /** A sentence. */
  reason: string;
  /** The nearest legal cut, if there is one. */
  nearest: CutPlace | undefined;
}

/**
 * Why the kept entries cannot start at an entry; undefined if they can.
 * @throws what reading the session throws
 */
export function cutRefusal(options: CutOptions & { firstKeptEntryId: string }): CutRefusal | undefined {
  const { session, leafId = session.leafId, firstKeptEntryId } = options;
  return refusalAt({ session, leafId, items: contextItems(options) }, firstKeptEntryId);
}

function contextItems(options: CutOptions): readonly ViewItem[] {
  if (options.isAgain) return withoutSummary(readOriginals(options).view.items);
  const { projection, estimator } = readContext(options);
  return withoutSummary(viewOf(projection, estimator).items);
}

/** The context that is to be cut. */
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

function refusalAt(context: CutContext, entryId: string): CutRefusal | undefined {
  const { items } = context;
  const at = items.findIndex((item) => item.entryId === entryId);
  if (at < 0) return refusalOfUnseen(context, entryId);
  const fault = faultsOf(items)[at];
  return fault && { reason: REASONS[fault], nearest: nearestPlace(items, at) };
}

const REASONS: Readonly<Record<CutFault, string>> = {
  "nothing before": "No entry before it can be summarised.",
  "tool result": "It is a tool result. A result stays with the answer that called the tool.",
  "torn pair": "It is between a tool call and its result. These stay together.",
  "failed answer": "It is a failed or stopped answer.",
  unseen:
    "The model has not seen the tool results before it yet. They stay with the answer that called the tools.",
};

/** The reason for an entry that is not in the context. */
function refusalOfUnseen({ session, leafId, items }: CutContext, entryId: string): CutRefusal {
  const path = session.path(leafId);
  const onPath = pathAncestor(session, path, entryId);
  const at = path.findIndex(({ id }) => id === onPath);
  const inView = new Map(items.map((item, index) => [item.entryId, index]));
  const behind = path.slice(Math.max(0, at)).find(({ id }) => inView.has(id));
  const nearest = nearestPlace(items, inView.get(behind?.id ?? "") ?? items.length);
  const firstAt = path.findIndex(({ id }) => inView.has(id));
  if (onPath !== entryId) return { reason: "It is not on the current branch.", nearest };
  const reason =
    at < firstAt
      ? "The latest compaction already replaced it."
      : "It is not a message in the model's context.";
  return { reason, nearest };
}

/** The entry itself, or its nearest ancestor on the path. */
function pathAncestor(session: Session, path: readonly Entry[], entryId: string): string | undefined {
  const onPath = new Set(path.map(({ id }) => id));
  const seen = new Set<string>();
  for (let id: string | null | undefined = entryId; typeof id === "string" && !seen.has(id); ) {
    if (onPath.has(id)) return id;
    seen.add(id);
    id = session.entry(id)?.parentId;
  }
  return undefined;
}

/** The legal cuts of items without an earlier summary. */
export function legalPlaces(items: readonly ViewItem[]): CutPlace[] {
  return allPlaces(items).filter((place) => place !== undefined);
}

/** The legal cut nearest to an index; of two, the one that keeps more. */
function nearestPlace(items: readonly ViewItem[], at: number): CutPlace | undefined {
  const places = allPlaces(items);
  for (let distance = 0; distance <= places.length; distance++) {
    const place = places[at - distance] ?? places[at + distance];
    if (place !== undefined) return place;
  }
  return undefined;
}

/** One place for each item; undefined if a cut is not legal there. */
function allPlaces(items: readonly ViewItem[]): Array<CutPlace | undefined> {
  const faults = faultsOf(items);
  let keptTokens = 0;
  const newestFirst = items.toReversed().map(({ entryId, tokens }, fromEnd) => {
    keptTokens += tokens;
    return faults[items.length - 1 - fromEnd] === undefined ? { entryId, keptTokens } : undefined;
  });
  return newestFirst.reverse();
}

function faultsOf(items: readonly ViewItem[]): Array<CutFault | undefined> {
  return cutFaults(items.map(({ message }) => message));
}
