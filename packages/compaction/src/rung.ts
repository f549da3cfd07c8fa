import type { Usage } from "@bonsai-agent/messages";
import { type Entry, pinChange } from "@bonsai-agent/session";
import type { Budgets } from "./budget.ts";
import type { CarryOver, ExtensionCarryOver } from "./carry-over.ts";
import type { BeforeCompact, BeforeCompactResult, CompactionLifecycle } from "./events.ts";
import type { CompactionReason } from "./outcome.ts";
import type { CompactionPlan, MaskPlan } from "./plan.ts";
import type { CompactionSettings } from "./settings.ts";
import type { Summariser } from "./summariser.ts";
import { type ContextView, PLANNED_ENTRY_ID, type ViewItem, viewTokens } from "./view.ts";

export type RungName = "mask" | "extension" | "summarise" | "chunks" | "digest" | "media" | "truncate";

/** A summary that is ready to be written. */
export interface PlannedSummary {
  /** As the model will see it. */
  summary: string;
  prose: string;
  firstKeptEntryId: string | null;
  /** Undefined for a summary of an extension's own. */
  carried: CarryOver | undefined;
  /** An extension's own. */
  details?: unknown;
  usage?: Usage | undefined;
  fromHook: boolean;
}

/** How far the ladder has climbed: nothing of it is written yet. */
export interface LadderState {
  readonly view: ContextView;
  readonly plan: CompactionPlan | undefined;
  readonly summary: PlannedSummary | undefined;
  /** The extension whose summary it is. */
  readonly madeBy?: string | undefined;
  /** What extensions want carried over behind the summary, as far as there is room. */
  readonly carryOver?: ExtensionCarryOver | undefined;
  /** Estimated tokens of the context as it would be now. */
  readonly tokens: number;
  /** The rung that got furthest. */
  readonly rung: RungName | undefined;
  readonly failures: readonly RungFailure[];
}

export interface RungFailure {
  rung: RungName;
  message: string;
  cause?: unknown;
  /** True when the summariser found its request too long. */
  overflow?: boolean;
}

/** What every rung of one compaction works with. */
export interface LadderContext {
  readonly reason: CompactionReason;
  readonly settings: CompactionSettings;
  readonly budgets: Budgets;
  /** Undefined where only the digest is there. */
  readonly summariser: Summariser | undefined;
  readonly digest: Summariser | undefined;
  /** Reads the path that is compacted, oldest first; for the extensions. */
  readonly branchEntries: () => readonly Entry[];
  readonly tokensBefore: number;
  readonly focus: string | undefined;
  /** Takes the place of the instructions; then no sections are expected. */
  readonly instructions?: string | undefined;
  readonly pinned: readonly string[];
  readonly signal: AbortSignal;
  /** What the context must come down to, in estimated tokens; undefined when a summary is the goal itself. */
  readonly targetTokens: number | undefined;
  /** What the window can take at all, in estimated tokens; undefined where the window is unknown. */
  readonly mostTokens: number | undefined;
  /** What would be sent at all, in estimated tokens; undefined where the window is unknown. */
  readonly sendableTokens: number | undefined;
  /** What one command of the user and its output may take of what is kept; without bound where masks are switched off. */
  readonly commandTokens: number;
  /** Counts what summaries cost. */
  readonly onUsage: (usage: Usage | undefined) => void;
  readonly hooks: CompactionHooks;
}

/** One step of the ladder. */
export interface Rung {
  readonly name: RungName;
  /** False where there is nothing for this rung to do. */
  applies(state: LadderState, context: LadderContext): boolean;
  /** The state after the step; throws where the step fails. */
  attempt(state: LadderState, context: LadderContext): Promise<LadderState>;
}

/** Asks the extensions; without a lifecycle, nobody answers. */
interface CompactionHooks {
  /** The entries to leave unmasked; "cancel" leaves all. */
  beforeMask(plan: MaskPlan): Promise<readonly string[] | "cancel">;
  /** The payload is made only where somebody listens, and the path is read only for a handler that asks for it. */
  beforeCompact(payload: () => BeforeCompactPayload): Promise<BeforeCompactAnswer>;
}

interface BeforeCompactPayload extends Pick<BeforeCompact, "preparation" | "customInstructions"> {
  branchEntries: () => readonly Entry[];
}

/** What the extensions said, and whose word stands. */
interface BeforeCompactAnswer extends BeforeCompactResult {
  by?: { cancel?: string | undefined; compaction?: string | undefined };
}

interface CompactionHooksOptions {
  lifecycle: CompactionLifecycle | undefined;
  reason: CompactionReason;
  signal: AbortSignal;
}

export function compactionHooks({ lifecycle, reason, signal }: CompactionHooksOptions): CompactionHooks {
  return {
    async beforeMask({ items, shortened, freedTokens }) {
      const results = [...items, ...shortened.map(({ item }) => item)].map((item) => ({
        entryId: item.entryId,
        toolName: item.message.role === "toolResult" ? item.message.toolName : "",
        tokens: item.tokens,
      }));
      const payload = { type: "session_before_mask" as const, results, freedTokens, reason, signal };
      const decision = await lifecycle?.decide("session_before_mask", payload, { signal });
      return decision?.result?.cancel ? "cancel" : (decision?.result?.keep ?? []);
    },
    async beforeCompact(payload) {
      const type = "session_before_compact" as const;
      if (!lifecycle?.hasHandlers(type)) return {};
      const { branchEntries, ...asked } = payload();
      const event: BeforeCompact = {
        ...{ type, ...asked, reason, willRetry: reason === "overflow", signal },
        get branchEntries() {
          return branchEntries();
        },
      };
      const decision = await lifecycle.decide(type, event, { signal });
      const { cancel, compaction } = decision.sources ?? {};
      return { ...decision.result, by: { cancel, compaction } };
    },
  };
}

/** The state once a summary stands for everything before its first kept entry. */
export function summarisedState(state: LadderState, summary: PlannedSummary): LadderState {
  const from = state.view.items.findIndex((item) => item.entryId === summary.firstKeptEntryId);
  const kept = from < 0 ? [] : state.view.items.slice(from);
  const keptIds = new Set(kept.map((item) => item.entryId));
  // The summary carries what is pinned.
  const beside = kept.filter((item) => pinChange(item.entry) === undefined);
  const items = [summaryItem(state, summary), ...beside];
  const edits = state.view.edits.filter((edit) => keptIds.has(edit.entryId));
  return { ...state, summary, view: { ...state.view, items, edits }, tokens: viewTokens(items) };
}

/** Stands for the compaction entry that is not written yet. */
function summaryItem({ view }: LadderState, { summary }: PlannedSummary): ViewItem {
  const message = { role: "compactionSummary" as const, summary, tokensBefore: 0, timestamp: 0 };
  const entry = {
    type: "compaction",
    id: PLANNED_ENTRY_ID,
    parentId: null,
    timestamp: "",
    summary,
    firstKeptEntryId: PLANNED_ENTRY_ID,
    tokensBefore: 0,
  } as Entry;
  const source = { entryId: PLANNED_ENTRY_ID, entry, message };
  return { ...source, tokens: view.estimator.message(message), source };
}
