import type { Usage } from "@bonsai-agent/messages";
import type { Entry } from "@bonsai-agent/session";
import type { Budgets } from "./budget.ts";
import type { CarryOver } from "./carry-over.ts";
import type { CompactionHooks } from "./compaction-hooks.ts";
import type { ContextView } from "./context-view.ts";
import type { ExtensionCarryOver } from "./extension-carry-over.ts";
import type { CompactionReason } from "./outcome.ts";
import type { CompactionPlan } from "./plan.ts";
import type { CompactionSettings } from "./settings-schema.ts";
import type { Summariser } from "./summariser.ts";

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
