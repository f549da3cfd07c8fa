import type { TokenEstimator } from "@bonsai-agent/messages";
import { type Entry, type Projection, pinChange, type Session } from "@bonsai-agent/session";
import { originalMessage, type ViewItem, viewOf } from "./context-view.ts";
import { serialise } from "./serialise.ts";
import type { CompactionSettings } from "./settings-schema.ts";

/** The part of the tree that is left by a move. */
export interface Branch {
  oldLeafId: string | null;
  /** The deepest entry that both positions descend from; null where there is none. */
  commonAncestorId: string | null;
  /** From below the ancestor to the old leaf, oldest first. Read when they are first asked for. */
  readonly entries: readonly Entry[];
}

/** What is left when the leaf moves from where it is to `targetId`. */
export function leftBranch(session: Session, targetId: string | null): Branch {
  const oldLeafId = session.leafId;
  const commonAncestorId = commonAncestor(session, oldLeafId, targetId);
  let entries: readonly Entry[] | undefined;
  return {
    oldLeafId,
    commonAncestorId,
    get entries() {
      entries ??= entriesBelow(session, oldLeafId, commonAncestorId);
      return entries;
    },
  };
}

/** By the index: neither path is parsed for it. */
function commonAncestor(session: Session, oldLeafId: string | null, targetId: string | null): string | null {
  if (oldLeafId === null || targetId === null) return null;
  const index = session.index();
  let at = index.commonAncestor(index.find(oldLeafId), index.find(targetId));
  // One whose body turns out to be lost is no entry of either path.
  while (at >= 0 && session.entryAt(at) === undefined) at = index.parent(at);
  return at < 0 ? null : index.id(at);
}

function entriesBelow(session: Session, leafId: string | null, ancestorId: string | null): Entry[] {
  const path = session.path(leafId);
  return path.slice(path.findLastIndex(({ id }) => id === ancestorId) + 1);
}

export interface BranchItemsOptions {
  /** What the model saw at the branch's leaf. */
  projection: Projection;
  entries: readonly Entry[];
  budgetTokens: number;
  estimator: TokenEstimator;
  limits: CompactionSettings["serialize"];
}

/** Up to this share of the budget, a summary may still enter that does not fit. */
const SUMMARY_SHARE = 0.9;

/**
 * What the model saw of the branch, the newest first within the budget, which the newest may exceed by itself; given back
 * oldest first. Its pins stay there.
 */
export function branchItems(options: BranchItemsOptions): ViewItem[] {
  const { projection, entries, budgetTokens, estimator } = options;
  const ids = new Set(entries.map((entry) => entry.id));
  const { items } = viewOf(projection, estimator);
  const chosen: ViewItem[] = [];
  let tokens = 0;
  const left = items.filter(({ entryId, entry }) => ids.has(entryId) && pinChange(entry) === undefined);
  for (const item of left.reverse()) {
    const size = requestTokens(item, options);
    const fits = tokens + size <= budgetTokens;
    const isNewest = chosen.length === 0;
    if (!fits && !isNewest && !(isSummary(item) && tokens < budgetTokens * SUMMARY_SHARE)) break;
    chosen.push(item);
    tokens += size;
    if (!fits) break;
  }
  return chosen.reverse();
}

/** A long tool result takes less room in the request than in the context. */
function requestTokens(item: ViewItem, { estimator, limits }: BranchItemsOptions): number {
  const [text = ""] = serialise([originalMessage(item)], limits);
  return Math.min(item.tokens, estimator.text(text));
}

function isSummary({ message }: ViewItem): boolean {
  return message.role === "branchSummary" || message.role === "compactionSummary";
}
