import type { ProviderSummary } from "@bonsai-agent/messages";
import type { CompactionEntry, Session } from "@bonsai-agent/session";
import type { CarryOver } from "../carry/carry-over.ts";
import type { ExtensionCarryOver } from "../carry/extension-carry.ts";
import type { RecordSource } from "../carry/record.ts";
import type { CompactionReason, LossReport, RungName } from "../details.ts";
import type { CompactionLifecycle } from "../events.ts";
import type { ContextReading } from "../plan/context.ts";
import type { CompactionPlan, PlanOptions } from "../plan/cut.ts";
import type { Budgets, Goals } from "../plan/limits.ts";
import type { ContextSize, ContextView } from "../plan/view.ts";
import type { CompactionSettings } from "../settings.ts";
import type { Summariser } from "../summariser.ts";
import type { RunCost } from "./ask.ts";

/** One compaction: its request with all defaults, the context at its start, its goals, and its cost so far. */
export interface Run extends Goals {
  readonly session: Session;
  readonly leafId: string | null;
  readonly reason: CompactionReason;
  readonly isBackground?: boolean | undefined;
  readonly isEconomic: boolean;
  readonly settings: CompactionSettings;
  readonly budgets: Budgets;
  readonly reading: ContextReading;
  readonly size: ContextSize;
  readonly start: LadderState;
  /** The compaction that this one repeats. */
  readonly former: CompactionEntry | undefined;
  readonly span: Omit<PlanOptions, "view">;
  /** Undefined for the digest alone. */
  readonly summariser: Summariser | undefined;
  readonly skippedModelReason?: string | undefined;
  /** True if the provider's compaction has just failed. Default: false. */
  readonly skipsProvider?: boolean | undefined;
  readonly digest: Summariser | undefined;
  readonly focus: string | undefined;
  /** Replaces the instructions of the summary request. The answer then needs no sections. */
  readonly instructions?: string | undefined;
  /** True if the user chose the digest: summaries of extensions are ignored. Default: false. */
  readonly isDigestWanted?: boolean;
  /** True if a summary may be longer than the messages that it replaces. Default: false. */
  readonly mayGrow?: boolean | undefined;
  readonly recordSource: RecordSource;
  readonly pinned: readonly string[];
  readonly lifecycle: CompactionLifecycle | undefined;
  readonly signal: AbortSignal;
  readonly cost: RunCost;
}

/** The context after some rungs. Nothing is written yet. */
export interface LadderState {
  readonly view: ContextView;
  readonly plan: CompactionPlan | undefined;
  readonly summary: LaidSummary | undefined;
  /** Texts that extensions carry after the summary, bounded. */
  readonly carryOver?: ExtensionCarryOver | undefined;
  readonly tokens: number;
  /** The last rung that shrank the context. */
  readonly rung: RungName | undefined;
  readonly failures: readonly RungFailure[];
}

/** A rung that failed, or did not shrink the context. */
export interface RungFailure {
  rung: RungName;
  message: string;
  cause?: unknown;
  /** True if the summariser found its request too long. */
  overflow?: boolean;
}

export interface Rung {
  readonly name: RungName;
  /** True for a rung that makes the summary: it is skipped if none is needed. Default: false. */
  readonly isForSummary?: true;
  /** The state after the step. The same state if there is nothing to do. */
  attempt(state: LadderState, run: Run): LadderState | Promise<LadderState>;
}

/**
 * A summary before its commit: text and cut, without a context. A model, the digest, an extension, the background and the
 * user's edit each make one; `layDraft` fits it to the context of the moment.
 */
export interface Draft {
  prose: string;
  /** Null keeps nothing. */
  firstKeptEntryId: string | null;
  rung: RungName;
  extension?: string | undefined;
  /** True for quotes of the record, as the digest makes them. */
  isExtract?: boolean | undefined;
  focus?: string | undefined;
  isEdited?: boolean | undefined;
  /** The provider's own summary, which its model sees instead of the prose. */
  provider?: ProviderSummary | undefined;
  /** For an extension's own text: the parts that it carries, and its details. */
  own?: { carry: readonly ("userWords" | "terms")[]; details: unknown } | undefined;
}

/** A draft with the data that it carries into a context. */
export interface LaidSummary {
  draft: Draft;
  text: string;
  carried: CarryOver;
  /** Facts that the context loses. Absent without a check. */
  loss?: LossReport | undefined;
}

export interface ClimbResult {
  run: Run;
  state: LadderState;
}

/** The user or an extension stopped the compaction. */
export class CompactionCancelled extends Error {
  /** The extension that stopped it; undefined for the user. */
  readonly by: string | undefined;
  /** True if the user reviewed the compaction and declined it. */
  readonly isDeclined: boolean;

  constructor(why: string, by?: string, isDeclined = false) {
    super(why);
    this.name = "CompactionCancelled";
    this.by = by;
    this.isDeclined = isDeclined;
  }
}
