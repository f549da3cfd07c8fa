import type { DecideEvent, DecideRule, EventRules, Lifecycle, NotifyEvent } from "@bonsai-agent/lifecycle";
import { isRecord, type Message, messageOf, type Usage } from "@bonsai-agent/messages";
import { jsonDepthProblem } from "@bonsai-agent/messages/host";
import type { BranchSummaryEntry, CompactionEntry, ContextEditEntry, Entry } from "@bonsai-agent/session";
import { checkCarryOver, type ExtensionCarryOver } from "./carry/extension-carry.ts";
import type { CompactionReason, SaidMessage } from "./details.ts";
import type { FileOperations } from "./record/file-operations.ts";
import type { CompactionSettings } from "./settings.ts";

/** A check for each field of an event's result: true, false, or a description of the fault. */
type ResultFields<Result> = {
  readonly [Field in keyof Required<Result>]: (value: unknown) => boolean | string;
};

/**
 * Checks the results of handlers. Known fields must have the right type. An object with only unknown fields is a
 * mistake (`{cancle: true}`), not a result.
 */
function isResultOf<Result>(fields: ResultFields<Result>): (value: object) => boolean | string {
  return (value) => {
    const given = Object.entries(value).filter(([, each]) => each !== undefined);
    const known = given.filter(([name]) => Object.hasOwn(fields, name));
    if (given.length > 0 && known.length === 0) return false;
    const verdicts = known.map(([name, each]) => fields[name as keyof Result](each));
    return verdicts.find((verdict) => verdict !== true) ?? true;
  };
}

const isBoolean = (value: unknown): boolean => typeof value === "boolean";
const isText = (value: unknown): boolean => typeof value === "string";
/** Checks that an extension's summary can be stored. Returns a description of the faulty part. */
function isSummary(value: unknown): boolean | string {
  if (!isRecord(value)) return "a summary that is not an object";
  if (!isStorable(value) || !isStorable(value.details))
    return "a summary with parts that cannot be stored as JSON";
  const { usage, carry } = value;
  if (usage !== undefined && usage !== null && !isRecord(usage))
    return "a summary with a usage that is not an object";
  return carry === undefined || isTextList(carry) || "a summary with a carry that is not a list of texts";
}

function isStorable(value: unknown): boolean {
  try {
    return (
      value === undefined || (jsonDepthProblem(value) === undefined && JSON.stringify(value) !== undefined)
    );
  } catch {
    // The value contains a cycle, a BigInt, or a getter that throws.
    return false;
  }
}

const isTextList = (value: unknown): boolean => Array.isArray(value) && value.every(isText);

/** The planned compaction. Read-only. */
export interface CompactionPreparation {
  /** `null` if nothing is kept. */
  readonly firstKeptEntryId: string | null;
  /** The history before the cut, oldest first. */
  readonly messagesToSummarize: readonly Message[];
  /** The early part of a split turn, oldest first; else empty. */
  readonly turnPrefixMessages: readonly Message[];
  readonly isSplitTurn: boolean;
  /** Tokens of the whole context. */
  readonly tokensBefore: number;
  /** The prose of the summary that is updated. */
  readonly previousSummary?: string;
  /** The user's messages in everything that the summary replaces, oldest first. A line names each pasted block. */
  readonly userWords: readonly SaidMessage[];
  /** The terms of everything that the summary replaces, the most frequent first, each with the latest entry with it. */
  readonly terms: ReadonlyArray<{ readonly term: string; readonly entryId: string | undefined }>;
  /** File operations of the summarised messages. */
  readonly fileOps: FileOperations;
  /** The settings, with the sizes of this compaction in tokens, as scaled to the window. */
  readonly settings: CompactionSettings & { readonly reserveTokens: number };
}

/** A summary that an extension supplies instead of the default one. */
export interface CustomCompaction {
  /** As the model will see it, followed by the carried data. */
  summary: string;
  /**
   * A legal cut of the context: a message's entry id, but not a tool result's. `null` keeps nothing but the summary.
   */
  firstKeptEntryId: string | null;
  tokensBefore: number;
  /**
   * Parts of the preparation to carry after the summary as data. Default: none. A summary of `summarisePreparation` has
   * both.
   */
  carry?: ReadonlyArray<"userWords" | "terms">;
  /** The extension's own data, stored unchanged. */
  details?: unknown;
  /** The cost of making it. */
  usage?: Usage;
}

export interface BeforeCompact {
  type: "session_before_compact";
  /** The planned compaction. */
  preparation: CompactionPreparation;
  /** The path that is compacted, oldest first. Read on first access. */
  branchEntries: readonly Entry[];
  /** The user's focus for the summary. */
  customInstructions?: string;
  reason: CompactionReason;
  /**
   * True if the agent works meanwhile. New messages are then kept whole, and any other change ends the compaction. Else
   * absent.
   */
  background?: true;
  /** True if a request is sent again afterwards. */
  willRetry: boolean;
  signal: AbortSignal;
}

export interface BeforeCompactResult {
  cancel?: boolean;
  /** Why it was cancelled, for people. */
  reason?: string;
  /** Replaces the default summary. */
  compaction?: CustomCompaction;
  /**
   * Texts that the model sees as data after any kind of summary, by tag: lower-case letters and hyphens. Kept until the
   * next compaction, which asks again.
   */
  carryOver?: ExtensionCarryOver;
}

/** The planned move or merge. Read-only. */
export interface TreePreparation {
  /** The entry to go to; for a merge, the leaf, which the summary is added to. */
  readonly targetId: string | null;
  /** The present leaf; for a merge, the end of the summarised branch. */
  readonly oldLeafId: string | null;
  /** The deepest entry that both positions descend from; null without one. */
  readonly commonAncestorId: string | null;
  /** Oldest first. Read on first access. */
  readonly entriesToSummarize: readonly Entry[];
  readonly userWantsSummary: boolean;
  /** The user's focus for the summary. */
  readonly customInstructions?: string;
  /** True if `customInstructions` replaces the instructions. */
  readonly replaceInstructions?: boolean;
  /** The label that the user wants to set. */
  readonly label?: string;
  /** True for a merge: the leaf stays on its path, and the summary of another branch is added to it. Else absent. */
  readonly isMerge?: boolean;
}

export interface BeforeTreeResult {
  cancel?: boolean;
  /** Ignored if the user wants none. */
  summary?: Pick<CustomCompaction, "summary" | "details" | "usage">;
  customInstructions?: string;
  replaceInstructions?: boolean;
  label?: string;
}

/** The done steps, each as a number of messages. */
export interface CompactionSteps {
  /** Old outputs of tools and commands, replaced by a placeholder. */
  masked: number;
  summarised: number;
  /** Messages whose images were removed. */
  withoutMedia: number;
  /** Outputs or pasted texts, cut to head and tail. */
  shortened: number;
}

/** The ending of one call of the controller. */
export interface CompactionOutcome {
  status: "compacted" | "masked" | "skipped" | "cancelled" | "failed";
  reason: CompactionReason;
  /** One sentence for the user about the outcome; `caveat` or `cancelReason` is already part of it. */
  detail: string;
  /** A note about a compaction that changed something: why the digest wrote it, or that the context is still too large. */
  caveat?: string;
  /** With the status `cancelled`: why, if it was not the user's key. */
  cancelReason?: string;
  /** Tokens of the whole request, system prompt and tools included: from the provider's last report, else estimated. */
  tokensBefore: number;
  /** The estimated part of `tokensBefore`; 0 if a provider reported all of it. */
  estimatedTokensBefore: number;
  /** An estimate of the same request with the new summary. In a plan, the summary's length is a guess. */
  tokensAfter: number;
  /** The done steps, or those of a plan. Absent if nothing changed. */
  steps?: CompactionSteps;
  /** The extension that cancelled, or that supplied the summary. */
  decidedBy?: string;
  /** Set if keeping less would leave something to summarise. */
  isAllRecent?: true;
  /** With the status `cancelled`, if the user reviewed the compaction and declined it. */
  isDeclined?: true;
  /** With the status `failed`, if a model's summary failed and the settings kept the digest from replacing it. */
  digestIsUntried?: true;
  /** With the status `failed`, if there was nothing to summarise, mask or cut. */
  isAtMinimum?: true;
}

/** The state of a summary that is made while the agent works. */
export type BackgroundState = "begun" | "ready" | "committed" | "discarded" | "failed";

/** The part of a lifecycle that compaction uses. */
export type CompactionLifecycle = Pick<Lifecycle<CompactionEvents>, "notify" | "decide" | "hasHandlers">;

/** The events that compaction and tree navigation emit. */
export interface CompactionEvents {
  /** A summary that is made while the agent works has begun, is ready, or was written, discarded or failed. */
  background_compaction: NotifyEvent<{
    type: "background_compaction";
    /** `discarded`: the session or the request changed meanwhile, or an extension cancelled it. */
    state: BackgroundState;
    /** One sentence for people; empty if the state says all. */
    detail: string;
  }>;
  /** A compaction begins, automatic or manual. */
  auto_compaction_start: NotifyEvent<{ type: "auto_compaction_start"; reason: CompactionReason }>;
  /** The compaction has finished, failed or was cancelled. Always the last event of a compaction. */
  auto_compaction_end: NotifyEvent<{
    type: "auto_compaction_end";
    reason: CompactionReason;
    outcome: CompactionOutcome;
    /** The stored entry, if there is one. */
    result?: CompactionEntry;
    aborted: boolean;
    willRetry: boolean;
    errorMessage?: string;
  }>;
  /** Old tool results are about to be masked in the model's view. */
  session_before_mask: DecideEvent<
    {
      type: "session_before_mask";
      /** `toolName` is empty for a command of the user; `tokens` are estimated. */
      results: ReadonlyArray<{ entryId: string; toolName: string; tokens: number }>;
      freedTokens: number;
      reason: CompactionReason;
      signal: AbortSignal;
    },
    { cancel?: boolean; keep?: string[] }
  >;
  /** The masks are written. */
  session_mask: NotifyEvent<{
    type: "session_mask";
    entries: readonly ContextEditEntry[];
    freedTokens: number;
    reason: CompactionReason;
  }>;
  /** The cut is planned and nothing is summarised yet. A handler can cancel, or supply the summary. */
  session_before_compact: DecideEvent<BeforeCompact, BeforeCompactResult>;
  /** The compaction is written and the lock is free. */
  session_compact: NotifyEvent<{
    type: "session_compact";
    compactionEntry: CompactionEntry;
    fromExtension: boolean;
    reason: CompactionReason;
    willRetry: boolean;
  }>;
  /** No compaction was written: it failed or was cancelled. */
  session_compact_failed: NotifyEvent<{
    type: "session_compact_failed";
    reason: CompactionReason;
    outcome: CompactionOutcome;
    /** Absent after a cancel. */
    error?: Error;
    /** The message of the error. Absent after a cancel. */
    errorMessage?: string;
    /** True if the user or an extension cancelled it. */
    aborted: boolean;
    /** True if a request would have been sent again: after an overflow. */
    willRetry: boolean;
    /** True if an extension's summary failed. */
    fromExtension: boolean;
  }>;
  /** A compaction was undone or redone. */
  session_compact_undo: NotifyEvent<{
    type: "session_compact_undo";
    /** The stored entry that records it. */
    entry: Entry;
    compactionEntry: CompactionEntry;
    /** False after a redo. */
    isUndone: boolean;
  }>;
  /**
   * The user goes to another entry, or merges another branch (`isMerge`). A handler can cancel, or supply or change the
   * summary.
   */
  session_before_tree: DecideEvent<
    { type: "session_before_tree"; preparation: TreePreparation; signal: AbortSignal },
    BeforeTreeResult
  >;
  /** The leaf moved. After a merge (`isMerge`), it is the new summary. */
  session_tree: NotifyEvent<{
    type: "session_tree";
    newLeafId: string | null;
    oldLeafId: string | null;
    summaryEntry?: BranchSummaryEntry;
    fromExtension?: boolean;
    /** True after a merge: the new leaf is the summary of the merged branch, under the old leaf. Else absent. */
    isMerge?: boolean;
  }>;
}

const notify = { kind: "notify" } as const;

/** An event that a handler may cancel. */
function cancellable<Result extends { cancel?: boolean }>(
  fields: ResultFields<Result>,
  exclusive: DecideRule<Result>["exclusive"] = [],
): DecideRule<Result> {
  return {
    kind: "decide",
    onError: "report",
    exclusive,
    final: (result) => result.cancel === true,
    refusal: () => ({ cancel: true }) as Result,
    isResult: isResultOf(fields),
  };
}

/** The rules of this package's events, for `new Lifecycle({rules})`. */
export const compactionEventRules: EventRules<CompactionEvents> = {
  background_compaction: notify,
  auto_compaction_start: notify,
  auto_compaction_end: notify,
  session_before_mask: {
    ...cancellable<{ cancel?: boolean; keep?: string[] }>({ cancel: isBoolean, keep: isTextList }),
    merge: { keep: (earlier, later) => [...earlier, ...later] },
  },
  session_mask: notify,
  session_before_compact: {
    ...cancellable<BeforeCompactResult>(
      { cancel: isBoolean, reason: isText, compaction: isSummary, carryOver: checkCarryOver },
      ["compaction"],
    ),
    refusal: (error) => ({ cancel: true, reason: messageOf(error) }),
    keyed: ["carryOver"],
    readOnly: ["preparation"],
  },
  session_compact: notify,
  session_compact_failed: notify,
  session_compact_undo: notify,
  session_before_tree: {
    ...cancellable<BeforeTreeResult>(
      {
        cancel: isBoolean,
        summary: isSummary,
        customInstructions: isText,
        replaceInstructions: isBoolean,
        label: isText,
      },
      ["summary"],
    ),
    readOnly: ["preparation"],
  },
  session_tree: notify,
};
