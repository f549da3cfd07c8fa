import { BonsaiError, jsonText, type Message } from "@bonsai-agent/messages";
import { reportedUsage } from "@bonsai-agent/messages/host";
import type { Entry } from "@bonsai-agent/session";
import { editedProse, previousProse } from "../carry/carry-over.ts";
import { boundedCarryOver } from "../carry/extension-carry.ts";
import { spanRecord } from "../carry/record.ts";
import { isOwnDetails, readDetails } from "../details.ts";
import type {
  BeforeCompact,
  BeforeCompactResult,
  CompactionPreparation,
  CustomCompaction,
} from "../events.ts";
import { legalCuts } from "../plan/cut.ts";
import { originalMessage } from "../plan/view.ts";
import { fileOperations } from "../record/file-operations.ts";
import {
  type ClimbResult,
  CompactionCancelled,
  type Draft,
  type LadderState,
  type Run,
  type Rung,
} from "./run.ts";
import { layDraft } from "./summary-rungs.ts";

/** Asks the extensions: one may cancel, or supply the summary. */
export const extensionRung: Rung = {
  name: "extension",
  isForSummary: true,
  async attempt(state, run) {
    const { result, by } = await askExtensions(state, run);
    if (run.signal.aborted) throw new CompactionCancelled("");
    if (result.cancel)
      throw new CompactionCancelled(result.reason ?? "An extension cancelled it.", by.cancel);
    const given = run.recordSource.secrets.value(result.carryOver);
    const carryOver = given && boundedCarryOver(given, run.budgets.windowTokens);
    const tags = Object.keys(carryOver ?? {});
    const asked = tags.length === 0 ? state : { ...state, carryOver };
    const { compaction } = result;
    if (compaction === undefined || run.isDigestWanted) return asked;
    checkCustomSummary("session_before_compact", compaction.summary);
    checkCut(state, compaction.firstKeptEntryId);
    run.cost.addUsage(reportedUsage(compaction.usage));
    return layDraft(asked, customDraft(compaction, by.compaction, tags), run);
  },
};

/**
 * A summary of `summarisePreparation` is one of ours: only its prose counts. Any other is kept as the extension wrote
 * it.
 */
function customDraft(
  { summary, firstKeptEntryId, details, carry = [] }: CustomCompaction,
  extension: string | undefined,
  tags: readonly string[],
): Draft {
  const draft = { firstKeptEntryId, rung: "extension" as const, extension };
  if (!isOwnDetails(details)) return { ...draft, prose: summary, own: { carry, details } };
  const { isExtract, focus } = readDetails(details);
  return { ...draft, prose: editedProse(summary, tags), isExtract, focus };
}

/**
 * The result of the extensions, and those that gave each part of it. Builds the event only if there is a handler, and
 * reads the path only if a handler asks for it.
 */
async function askExtensions(
  state: LadderState,
  run: Run,
): Promise<{ result: BeforeCompactResult; by: { cancel?: string; compaction?: string } }> {
  const { lifecycle, session, leafId, reason, isBackground, focus, signal } = run;
  const type = "session_before_compact" as const;
  if (!lifecycle?.hasHandlers(type)) return { result: {}, by: {} };
  let branchEntries: readonly Entry[] | undefined;
  const event: BeforeCompact = {
    type,
    preparation: preparationOf(state, run),
    ...(focus !== undefined && { customInstructions: focus }),
    reason,
    ...(isBackground && { background: true }),
    willRetry: reason === "overflow",
    signal,
    get branchEntries() {
      branchEntries ??= session.path(leafId);
      return branchEntries;
    },
  };
  const { result = {}, sources: by = {} } = await lifecycle.decide(type, event, { signal });
  return { result, by };
}

/** Compactions by their list of messages, which every copy of the event shares. */
const prepared = new WeakMap<readonly Message[], ClimbResult>();

/** The compaction that a preparation belongs to. @throws BonsaiError `preparation_unknown` */
export function preparedCompaction({ messagesToSummarize }: CompactionPreparation): ClimbResult {
  const found = prepared.get(messagesToSummarize);
  if (found !== undefined) return found;
  throw new BonsaiError({
    code: "preparation_unknown",
    message: "The preparation does not come from a session_before_compact event.",
    hint: "Pass event.preparation unchanged.",
  });
}

function preparationOf(state: LadderState, run: Run): CompactionPreparation {
  const { history, turnPrefix, previous, splitTurn, firstKeptEntryId } = state.plan!;
  const { reserveTokens, keepTokens: keepRecentTokens } = run.budgets;
  const previousSummary = previousProse(previous);
  const { words, terms } = spanRecord(state.plan!, run.recordSource, run.focus);
  const messagesToSummarize = history.map(originalMessage);
  const turnPrefixMessages = turnPrefix.map(originalMessage);
  prepared.set(messagesToSummarize, { state, run });
  return {
    firstKeptEntryId,
    messagesToSummarize,
    turnPrefixMessages,
    isSplitTurn: splitTurn,
    tokensBefore: run.size.totalTokens,
    ...(previousSummary !== undefined && { previousSummary }),
    userWords: words.said,
    terms: terms.uses.map(({ term, entryId }) => ({ term, entryId })),
    fileOps: fileOperations([...messagesToSummarize, ...turnPrefixMessages]),
    // A copy, because the event is frozen.
    settings: { ...run.settings, reserveTokens, keepRecentTokens },
  };
}

/** @throws BonsaiError for a summary that is empty or no text */
export function checkCustomSummary(event: string, summary: unknown): void {
  if (typeof summary === "string" && summary.trim() !== "") return;
  throw new BonsaiError({
    code: "extension_summary_empty",
    message: `An extension's ${event} handler returned ${jsonText(summary) || "nothing"} as the summary.`,
    hint: "Return the summary as a non-empty text, or return nothing to get the default summary.",
  });
}

/** Null is a legal cut: it keeps nothing. */
function checkCut({ view }: LadderState, firstKeptEntryId: string | null): void {
  if (firstKeptEntryId === null) return;
  const at = view.items.findIndex((item) => item.entryId === firstKeptEntryId);
  if (at < 0) {
    throw new BonsaiError({
      code: "first_kept_entry_unknown",
      message: `An extension's summary keeps entries from ${jsonText(firstKeptEntryId) || "undefined"} on, which is not in the context.`,
      hint: "Return preparation.firstKeptEntryId, or the id of a message in the context.",
    });
  }
  if (legalCuts(view.items.map((item) => item.message))[at]) return;
  throw new BonsaiError({
    code: "first_kept_entry_illegal",
    message: `An extension's summary keeps entries from ${firstKeptEntryId} on. The context cannot be cut at this ${view.items[at]!.message.role} message.`,
    hint: "Start at a user, assistant, command, extension or branch-summary message, but not between a tool call and its results.",
  });
}

const CODES = ["extension_summary_empty", "first_kept_entry_unknown", "first_kept_entry_illegal"];

/** True if an extension's summary was refused. */
export function isCustomSummaryError(error: BonsaiError | undefined): boolean {
  return error !== undefined && CODES.includes(error.code);
}
