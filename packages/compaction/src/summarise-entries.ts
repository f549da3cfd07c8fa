import { BonsaiError, byScriptEstimator } from "@bonsai-agent/messages";
import { type Entry, project } from "@bonsai-agent/session";
import { compactionSettings } from "./settings.ts";
import { type BranchSource, type BranchSummary, summariseBranch } from "./summarise-branch.ts";
import type { Summariser } from "./summariser.ts";

export interface SummariseEntriesOptions {
  /** Oldest first: `entriesToSummarize` of a `session_before_tree` event, or others of one branch. */
  entries: readonly Entry[];
  summariser: Summariser;
  /** What the summary should dwell on. */
  customInstructions?: string | undefined;
  /** `customInstructions` takes the place of the instructions. Default false. */
  replaceInstructions?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/** What the entries of an event were taken from. */
const sources = new WeakMap<readonly Entry[], BranchSource>();

/** Remembers, for as long as somebody holds the entries, where they are from. Nobody may change them: they are frozen. */
export function rememberBranch(entries: readonly Entry[], source: BranchSource): readonly Entry[] {
  sources.set(entries, source);
  return Object.freeze(entries);
}

/**
 * The summary of a branch that would have been made by this summariser without an extension, to be returned from
 * `session_before_tree` as it is or changed. Nothing is written. Entries of one's own choice are counted without what
 * the session knows, and with the default settings.
 * @throws BonsaiError `branch_summary_failed`, also where the entries hold nothing that a model sees; the signal's
 *   reason after an abort.
 */
export async function summariseEntries(options: SummariseEntriesOptions): Promise<BranchSummary> {
  const { entries, summariser, customInstructions, replaceInstructions = false } = options;
  const { signal = new AbortController().signal } = options;
  const source = sources.get(entries) ?? sourceOf(entries);
  try {
    const focus = customInstructions === undefined ? {} : { focus: customInstructions };
    const summary = await summariseBranch({ source, summariser, replaceInstructions, signal, ...focus });
    return summary ?? nothingSeen();
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

function sourceOf(entries: readonly Entry[]): BranchSource {
  return {
    entries,
    projection: () => project(entries),
    estimator: () => byScriptEstimator,
    settings: compactionSettings({}),
  };
}

function nothingSeen(): never {
  throw new BonsaiError({
    code: "branch_summary_failed",
    message: "The branch was not summarised: it holds nothing that the model saw.",
    hint: "Return nothing, so that the branch is left without a summary.",
  });
}
