import { BonsaiError, jsonText, type Message, reportedUsage } from "@bonsai-agent/messages";
import { inert } from "@bonsai-agent/messages/marks";
import type { Entry } from "@bonsai-agent/session";
import {
  boundedCarryOver,
  type CarryOver,
  carriedTokens,
  carryOver,
  recordBlocks,
  renderExtensionCarryOver,
  summaryOfDetails,
} from "../carry/carry-over.ts";
import { block, type FileLists, fileOperations } from "../carry/files.ts";
import { checkedCarryOver } from "../carry/loss-check.ts";
import { pinsMissingIn } from "../carry/pins.ts";
import { sessionSecrets, spanRecord } from "../carry/span-record.ts";
import { givenBack, previousProse, withCarriedOver } from "../carry/summary-text.ts";
import type {
  BeforeCompact,
  BeforeCompactResult,
  CompactionPreparation,
  CustomCompaction,
} from "../events.ts";
import { legalCuts } from "../plan/cut.ts";
import { type CompactionPlan, dividedAt } from "../plan/plan.ts";
import { originalMessage } from "../plan/view.ts";
import {
  CompactionCancelled,
  isPlanned,
  type LadderState,
  type PlannedSummary,
  type Run,
  type Rung,
  summarisedState,
} from "./ladder.ts";
import { paragraphs } from "./serialise.ts";
import { plannedSummary } from "./summary-rungs.ts";

/** Asks the extensions: one may cancel, or supply the summary. */
export const extensionRung: Rung = {
  name: "extension",
  applies: isPlanned,
  async attempt(state, run) {
    const { result, by } = await decided(state, run);
    if (run.signal.aborted) throw new CompactionCancelled("");
    if (result.cancel)
      throw new CompactionCancelled(result.reason ?? "An extension cancelled it.", by.cancel);
    const given = sessionSecrets(run).value(result.carryOver);
    const carryOver = boundedCarryOver(given, run.budgets.windowTokens);
    const asked = Object.keys(carryOver).length === 0 ? state : { ...state, carryOver };
    if (result.compaction === undefined || run.isDigestWanted) return asked;
    return { ...customSummary(asked, result.compaction, run), madeBy: by.compaction };
  },
};

interface Decided {
  result: BeforeCompactResult;
  /** The extensions whose word stands. */
  by: { cancel?: string | undefined; compaction?: string | undefined };
}

/** The event is made only where there is a handler, and the path is read only for one that asks for it. */
async function decided(state: LadderState, run: Run): Promise<Decided> {
  const { lifecycle, session, leafId, reason, isBackground, focus, signal } = run;
  const type = "session_before_compact" as const;
  if (!lifecycle?.hasHandlers(type)) return { result: {}, by: {} };
  let branchEntries: readonly Entry[] | undefined;
  const event: BeforeCompact = {
    type,
    preparation: preparationOf(state, run),
    ...(focus === undefined ? {} : { customInstructions: focus }),
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

/** What a preparation is the public side of. */
export interface PreparedCompaction {
  state: LadderState;
  run: Run;
}

/** By the list of messages: it is the same one in whatever copy of the event a handler gets. */
const prepared = new WeakMap<readonly Message[], PreparedCompaction>();

/** Undefined for a preparation that is not of an event. */
export function preparedCompaction(preparation: CompactionPreparation): PreparedCompaction | undefined {
  return prepared.get(preparation.messagesToSummarize);
}

/** What it was made of is remembered for as long as somebody holds it. */
function preparationOf(state: LadderState, run: Run): CompactionPreparation {
  const { history, turnPrefix, previous, splitTurn, firstKeptEntryId } = state.plan!;
  const { reserveTokens, keepTokens: keepRecentTokens } = run.budgets;
  const previousSummary = previousProse(previous);
  const { words, terms } = spanRecord(state.plan!, run);
  const messagesToSummarize = history.map(originalMessage);
  const turnPrefixMessages = turnPrefix.map(originalMessage);
  prepared.set(messagesToSummarize, { state, run });
  return {
    firstKeptEntryId,
    messagesToSummarize,
    turnPrefixMessages,
    isSplitTurn: splitTurn,
    tokensBefore: run.size.totalTokens,
    ...(previousSummary === undefined ? {} : { previousSummary }),
    userWords: words.said,
    terms: terms.uses.map(({ term, entries }) => ({ term, entries })),
    fileOps: fileOperations([...messagesToSummarize, ...turnPrefixMessages]),
    // A copy: what handlers get is frozen.
    settings: { ...run.settings, reserveTokens, keepRecentTokens },
  };
}

/**
 * The state with an extension's summary, kept as the extension wrote it. What was made here on its behalf
 * (`summarisePreparation`) goes on carrying over what it does.
 * @throws BonsaiError when it is empty, or its first kept entry is not in the context or no legal cut.
 */
function customSummary(state: LadderState, compaction: CustomCompaction, run: Run): LadderState {
  const { firstKeptEntryId, details } = compaction;
  const usage = reportedUsage(compaction.usage);
  checkCustomSummary("session_before_compact", compaction.summary);
  const summary = withoutSecrets(compaction.summary, run);
  checkCut(state, firstKeptEntryId);
  const summaryOf = (texts: SummaryTexts): PlannedSummary => ({
    ...texts,
    firstKeptEntryId,
    ...(details === undefined ? {} : { details }),
    usage,
    fromHook: true,
    withProse: (prose) => summaryOf(texts.withProse(prose)),
  });
  return summarisedState(
    state,
    summaryOf(
      madeSummary(state, { ...compaction, summary }, run) ??
        ownSummary(state, { ...compaction, summary }, run),
    ),
  );
}

/** Pins are word for word, also in an extension's summary. */
function withoutSecrets(summary: string, run: Run): string {
  const secrets = sessionSecrets(run);
  const { pinned } = run;
  return pinned.reduce(
    (text, pin) => text.replaceAll(secrets.text(inert(pin)), () => inert(pin)),
    secrets.text(summary),
  );
}

interface SummaryTexts extends Pick<PlannedSummary, "summary" | "prose" | "carried" | "loss" | "record"> {
  withProse: (prose: string) => SummaryTexts;
}

function ownSummary(state: LadderState, compaction: CustomCompaction, run: Run): SummaryTexts {
  const { carryOver: extensions } = state;
  const plan = planUpTo(state, compaction.firstKeptEntryId);
  const prose = inert(compaction.summary, Object.keys(extensions ?? {}));
  const isCarried = (part: "userWords" | "terms") => compaction.carry?.includes(part) === true;
  const all = carryOver(plan, run);
  const asked: CarryOver = {
    ...all,
    ...noFiles,
    latestRequest: undefined,
    wordsTokens: isCarried("userWords") ? all.wordsTokens : 0,
    ...(extensions && { extensions }),
  };
  const termsTokens = isCarried("terms") ? carriedTokens(plan, run).terms : 0;
  const { kept } = plan;
  const { settings } = run;
  const check = { prose, kept, settings, termsTokens, putBackTokens: 0 };
  const { carried, loss } = checkedCarryOver(asked, check);
  const behind = paragraphs([...recordBlocks(carried), carriedBehind(prose, run.pinned, extensions)]);
  const summary = withCarriedOver(prose, behind);
  const withProse = (text: string) => ownSummary(state, { ...compaction, summary: text }, run);
  return { summary, prose, carried: undefined, loss, record: carried.record, withProse };
}

/** Which files were touched is for the extension to say. */
const noFiles: FileLists = { readFiles: [], modifiedFiles: [], recentFiles: [] };

/** The plan with the cut that an extension chose. */
function planUpTo({ plan }: LadderState, firstKeptEntryId: string | null): CompactionPlan {
  if (firstKeptEntryId === plan!.firstKeptEntryId) return plan!;
  const items = [...plan!.history, ...plan!.turnPrefix, ...plan!.kept];
  const at = items.findIndex(({ entryId }) => entryId === firstKeptEntryId);
  return { ...plan!, ...dividedAt(items, at < 0 ? items.length : at) };
}

/** A summary that was made here; where its text was changed, that is the prose now. */
function madeSummary(
  state: LadderState,
  { details, summary, firstKeptEntryId }: CustomCompaction,
  run: Run,
): SummaryTexts | undefined {
  const { carryOver } = state;
  const { pinned } = run;
  const made = summaryOfDetails(details);
  if (made === undefined) return undefined;
  const given = givenBack(made, { summary, pinned, extensions: carryOver });
  const carried = { ...made.carried, pinned, ...(carryOver && { extensions: carryOver }) };
  const behind = given.isAsMade ? "" : carriedBehind(given.summary, pinned, carryOver);
  const by = { plan: planUpTo(state, firstKeptEntryId), run };
  const { withProse } = plannedSummary(given.prose, { carried }, by);
  return { summary: withCarriedOver(given.summary, behind), prose: given.prose, carried, withProse };
}

/** What stands behind a summary that an extension wrote: the pins that it leaves out, and what extensions carry. */
function carriedBehind(
  summary: string,
  pinned: readonly string[],
  carryOver: LadderState["carryOver"],
): string {
  return paragraphs([block("pinned", pinsMissingIn(summary, pinned)), renderExtensionCarryOver(carryOver)]);
}

/** @throws BonsaiError for a summary that is no text or an empty one. */
export function checkCustomSummary(event: string, summary: unknown): void {
  if (typeof summary === "string" && summary.trim() !== "") return;
  throw new BonsaiError({
    code: "extension_summary_empty",
    message: `An extension's ${event} handler returned ${jsonText(summary) || "nothing"} as the summary.`,
    hint: "Return the summary as a non-empty text, or return nothing to get the default summary.",
  });
}

/** Nothing may be kept, too. */
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

const CODES: ReadonlySet<string> = new Set([
  "extension_summary_empty",
  "first_kept_entry_unknown",
  "first_kept_entry_illegal",
]);

/** True where an extension's summary is what could not be taken. */
export function isCustomSummaryError(error: BonsaiError | undefined): boolean {
  return error !== undefined && CODES.has(error.code);
}
