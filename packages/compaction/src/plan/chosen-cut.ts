import { BonsaiError } from "@bonsai-agent/messages";
import type { Entry, Session } from "@bonsai-agent/session";
import { type CutFault, cutFaults } from "./cut.ts";
import { readOriginals } from "./originals.ts";
import { type ReadContextOptions, readContext } from "./tokens.ts";
import { type ViewItem, viewOf, withoutSummary } from "./view.ts";

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
