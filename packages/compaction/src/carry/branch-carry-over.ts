import type { TokenEstimator } from "@bonsai-agent/messages";
import { type Entry, type Projection, pinChange } from "@bonsai-agent/session";
import { paragraphs } from "../ladder/serialise.ts";
import { budgetsFor, type ModelSizes } from "../plan/budget.ts";
import { type ViewItem, viewOf } from "../plan/view.ts";
import type { CompactionSettings } from "../settings.ts";
import type { Summariser } from "../summariser.ts";
import { type CarryOver, carriedTokens, recordBlocks } from "./carry-over.ts";
import { filesOf, renderFiles } from "./files.ts";
import { checkedCarryOver } from "./loss-check.ts";
import { otherClosings, recordOfItems } from "./span-record.ts";

/** Where the entries of a branch come from, and how they are counted. */
export interface BranchSource {
  /** Oldest first. */
  readonly entries: readonly Entry[];
  /** What the model saw at the branch's leaf. */
  readonly projection: Projection;
  readonly estimator: TokenEstimator;
  readonly settings: CompactionSettings;
  readonly model?: ModelSizes | undefined;
  /** The branch is merged, and nobody leaves it. Default false. */
  readonly isMerge?: boolean;
}

/** What the model saw of the branch, oldest first. Its pins stay there. */
export function leftItems({ entries, projection, estimator }: Omit<BranchSource, "settings">): ViewItem[] {
  const ids = new Set(entries.map((entry) => entry.id));
  const { items } = viewOf(projection, estimator);
  return items.filter(({ entryId, entry }) => ids.has(entryId) && pinChange(entry) === undefined);
}

/** What a branch's summary carries, whoever makes it. */
export function branchCarryOver(items: readonly ViewItem[], source: BranchSource): CarryOver {
  const { entries, settings } = source;
  return {
    ...filesOf(items, entries),
    pinned: [],
    latestRequest: undefined,
    record: recordOfItems({ items: items.map((item) => item.source), settings }),
    wordsTokens: branchTokens(items, source).words,
    closings: [],
    terms: [],
    putBack: [],
  };
}

function branchTokens(items: readonly ViewItem[], { settings, model = {} }: BranchSource) {
  const { windowTokens } = budgetsFor({ settings, model });
  const span = { previous: undefined, history: items, turnPrefix: [] };
  return carriedTokens(span, { settings, budgets: { windowTokens } });
}

interface Findings {
  prose: string;
  items: readonly ViewItem[];
  source: BranchSource;
  summariser: Summariser;
}

/** With what the agent said where a digest quotes it, what the notes leave out, and the terms that they do not name. */
export function withFindings(known: CarryOver, { prose, items, source, summariser }: Findings): CarryOver {
  const { terms: termsTokens, putBack } = branchTokens(items, source);
  const { settings } = source;
  const isExtract = summariser.isExtract === true;
  const putBackTokens = isExtract ? 0 : putBack;
  const closings =
    isExtract && known.wordsTokens > 0 ? otherClosings(known.record, BRANCH_CLOSINGS_TOKENS) : [];
  return checkedCarryOver({ ...known, closings }, { prose, settings, termsTokens, putBackTokens }).carried;
}

/** A branch stands beside a live context, so it says less. */
const BRANCH_CLOSINGS_TOKENS = 1_500;

export function branchBlocks(carried: CarryOver): string {
  return paragraphs([...recordBlocks(carried), renderFiles(carried)]);
}
