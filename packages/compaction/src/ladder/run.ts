import { addUsage, emptyUsage, type Usage } from "@bonsai-agent/messages";
import type { CompactionEntry, Session } from "@bonsai-agent/session";
import type { CarryOver, ExtensionCarryOver } from "../carry/carry-over.ts";
import type { RecordSource } from "../carry/span-record.ts";
import type { CompactionReason, LossReport, RungName } from "../details.ts";
import type { CompactionLifecycle } from "../events.ts";
import type { Budgets } from "../plan/limits.ts";
import type { CompactionPlan, PlanOptions } from "../plan/plan.ts";
import type { ContextSize, Goals } from "../plan/sizes.ts";
import type { ContextReading } from "../plan/tokens.ts";
import type { ContextView } from "../plan/view.ts";
import type { CompactionSettings } from "../settings.ts";
import type { Summariser } from "../summariser.ts";

/** One compaction: its request with all defaults, the context at its start, its goals, and its cost so far. */
export interface Run extends Goals {
  readonly session: Session;
  /** The end of the path. */
  readonly leafId: string | null;
  readonly reason: CompactionReason;
  /** True for a draft of a snapshot, made while the agent works. Default: false. */
  readonly isBackground?: boolean | undefined;
  /** True if only the economy asks for it: the context is below the threshold. */
  readonly isEconomic: boolean;
  readonly settings: CompactionSettings;
  readonly budgets: Budgets;
  /** The context as it was read. */
  readonly reading: ContextReading;
  /** The size of the context before the compaction. */
  readonly size: ContextSize;
  readonly start: LadderState;
  /** The compaction that this one repeats. */
  readonly former: CompactionEntry | undefined;
  /** Rules of the plan. */
  readonly span: Omit<PlanOptions, "view">;
  /** Undefined for the digest alone. */
  readonly summariser: Summariser | undefined;
  /** A sentence for the user: why there is no summariser although a model is available. */
  readonly skippedModelReason?: string | undefined;
  readonly digest: Summariser | undefined;
  readonly focus: string | undefined;
  /** Replaces the instructions of the summary request. The answer then needs no sections. */
  readonly instructions?: string | undefined;
  /** True if the user chose the digest: summaries of extensions are ignored. Default: false. */
  readonly isDigestWanted?: boolean;
  /** The path, to make the record of a span. */
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
  /** Estimated tokens of the view. */
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

/** One step of the ladder. */
export interface Rung {
  readonly name: RungName;
  /** False if the rung has nothing to do. */
  applies(state: LadderState, run: Run): boolean;
  /** Returns the state after the step, or throws. */
  attempt(state: LadderState, run: Run): Promise<LadderState>;
}

/**
 * A summary before its commit: text and cut, without a context. A model, the digest, an extension, the background and the
 * user's edit each make one; `layDraft` fits it to the context of the moment.
 */
export interface Draft {
  prose: string;
  /** Null keeps nothing. */
  firstKeptEntryId: string | null;
  /** The rung that made it. */
  rung: RungName;
  /** The extension that supplied it. */
  extension?: string | undefined;
  /** True for quotes of the record, as the digest makes them. */
  isExtract?: boolean | undefined;
  /** The focus that it was made with. */
  focus?: string | undefined;
  /** True if the user edited the prose. */
  isEdited?: boolean | undefined;
  /** For an extension's own text: the parts that it carries, and its details. */
  own?: { carry: readonly ("userWords" | "terms")[]; details: unknown } | undefined;
}

/** A draft with the data that it carries into a context. */
export interface LaidSummary {
  draft: Draft;
  /** As the model will see it. */
  text: string;
  carried: CarryOver;
  /** Facts that the context loses. Absent without a check. */
  loss?: LossReport | undefined;
}

/** The run and its last state. Nothing is written yet. */
export interface ClimbResult {
  run: Run;
  state: LadderState;
}

/** Adds up the summary requests of a compaction, with those that failed or were discarded. */
export class RunCost {
  requests = 0;
  usage: Usage | undefined;

  /** Counts one request, whose usage can be unknown. */
  addRequest(usage: Usage | undefined): void {
    this.requests += 1;
    this.addUsage(usage);
  }

  /** Adds the cost of an extension's own summary, which counts as no request. */
  addUsage(usage: Usage | undefined): void {
    if (usage !== undefined) this.usage = addUsage(this.usage ?? emptyUsage(), usage);
  }

  include({ requests, usage }: RunCost): void {
    this.requests += requests;
    this.addUsage(usage);
  }

  /** US dollars; null if the cost of a request is unknown. */
  usd({ isFree = false }: Pick<Summariser, "isFree"> = {}): number | null {
    const usd = this.usage?.cost.total ?? 0;
    const isUnknown = this.usage?.isUncounted === true || (usd === 0 && this.requests > 0);
    return isUnknown && !isFree ? null : usd;
  }
}
