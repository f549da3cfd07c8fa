import { BonsaiError, jsonText, type Message } from "@bonsai-agent/messages";
import { pinsMissingIn, renderExtensionCarryOver, renderPinned, summaryOfDetails } from "./carry-over.ts";
import type { CompactionPreparation, CustomCompaction } from "./events.ts";
import { inert } from "./marks.ts";
import { legalCuts } from "./plan.ts";
import { type LadderContext, type LadderState, type PlannedSummary, summarisedState } from "./rung.ts";
import { givenBack, withCarriedOver } from "./summary-text.ts";

/**
 * The state with an extension's summary, kept as the extension wrote it. What was made here on its behalf
 * (`summarisePreparation`) goes on carrying over what it does.
 * @throws BonsaiError when it is empty, or its first kept entry is not in the context or no legal cut.
 */
export function customSummary(
  state: LadderState,
  compaction: CustomCompaction,
  pinned: readonly string[],
): LadderState {
  const { summary, firstKeptEntryId, details, usage } = compaction;
  checkCustomSummary("session_before_compact", summary);
  checkCut(state, firstKeptEntryId);
  return summarisedState(state, {
    ...(madeSummary(state, compaction, pinned) ?? ownSummary(state, summary, pinned)),
    firstKeptEntryId,
    ...(details === undefined ? {} : { details }),
    usage,
    fromHook: true,
  });
}

type Said = Pick<PlannedSummary, "summary" | "prose" | "carried">;

function ownSummary({ carryOver }: LadderState, given: string, pinned: readonly string[]): Said {
  const summary = inert(given, Object.keys(carryOver ?? {}));
  const behind = carriedBehind(summary, pinned, carryOver);
  return { summary: withCarriedOver(summary, behind), prose: summary, carried: undefined };
}

/** A summary that was made here; where its text was changed, that is the prose now. */
function madeSummary(
  { carryOver }: LadderState,
  { details, summary }: CustomCompaction,
  pinned: readonly string[],
): Said | undefined {
  const made = summaryOfDetails(details);
  if (made === undefined) return undefined;
  const given = givenBack(made, { summary, pinned, extensions: carryOver });
  const carried = { ...made.carried, pinned, ...(carryOver && { extensions: carryOver }) };
  const behind = given.isAsMade ? "" : carriedBehind(given.summary, pinned, carryOver);
  return { summary: withCarriedOver(given.summary, behind), prose: given.prose, carried };
}

/** What stands behind a summary that an extension wrote: the pins that it leaves out, and what extensions carry. */
function carriedBehind(
  summary: string,
  pinned: readonly string[],
  carryOver: LadderState["carryOver"],
): string {
  const parts = [renderPinned(pinsMissingIn(summary, pinned)), renderExtensionCarryOver(carryOver)];
  return parts.filter((part) => part !== "").join("\n\n");
}

/** @throws BonsaiError for a summary that says nothing. */
export function checkCustomSummary(event: string, summary: unknown): void {
  if (typeof summary === "string" && summary.trim() !== "") return;
  throw new BonsaiError({
    code: "extension_summary_empty",
    message: `An extension's ${event} gave ${jsonText(summary) || "nothing"} as the summary.`,
    hint: "Return the summary as a text that is not empty, or return nothing for the default summary.",
  });
}

/** Nothing may be kept, too. */
function checkCut({ view }: LadderState, firstKeptEntryId: string | null): void {
  if (firstKeptEntryId === null) return;
  const at = view.items.findIndex((item) => item.entryId === firstKeptEntryId);
  if (at < 0) {
    throw new BonsaiError({
      code: "first_kept_entry_unknown",
      message: `An extension's summary keeps from entry ${jsonText(firstKeptEntryId) || "undefined"}, which is not in the context.`,
      hint: "Return preparation.firstKeptEntryId, or the id of a message that the model sees.",
    });
  }
  if (legalCuts(view.items.map((item) => item.message))[at]) return;
  throw new BonsaiError({
    code: "first_kept_entry_illegal",
    message: `An extension's summary keeps from entry ${firstKeptEntryId}, a ${view.items[at]!.message.role} message at which the context cannot be cut.`,
    hint: "Keep from a user, assistant, command, extension or branch-summary message, not from between a tool call and its results.",
  });
}

const CODES: ReadonlySet<string> = new Set([
  "extension_summary_empty",
  "first_kept_entry_unknown",
  "first_kept_entry_illegal",
]);

/** True where an extension's summary is what could not be taken. */
export function isCustomSummaryError(error: BonsaiError | undefined): boolean {
  return error !== undefined && CODES.has(error.code);
}

/** What a preparation is the public side of. */
export interface PreparedCompaction {
  state: LadderState;
  context: LadderContext;
}

/** By the list of messages: it is the same one in whatever copy of the event a handler gets. */
const prepared = new WeakMap<readonly Message[], PreparedCompaction>();

/** Remembers, for as long as somebody holds the preparation, what it was made of. */
export function rememberPrepared<Preparation extends CompactionPreparation>(
  preparation: Preparation,
  source: PreparedCompaction,
): Preparation {
  prepared.set(preparation.messagesToSummarize, source);
  return preparation;
}

export function preparedCompaction(preparation: CompactionPreparation): PreparedCompaction | undefined {
  return prepared.get(preparation.messagesToSummarize);
}
