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
  /** From below the ancestor to the old leaf, oldest first. */
  entries: readonly Entry[];
}

/** What is left when the leaf moves from where it is to `targetId`. */
export function leftBranch(session: Session, targetId: string | null): Branch {
  const oldLeafId = session.leafId;
  const ancestors = new Set(targetId === null ? [] : session.path(targetId).map((entry) => entry.id));
  const path = session.path(oldLeafId);
  const at = path.findLastIndex((entry) => ancestors.has(entry.id));
  return { oldLeafId, commonAncestorId: path[at]?.id ?? null, entries: path.slice(at + 1) };
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
