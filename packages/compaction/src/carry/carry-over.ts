import { estimateTokens, SecretFilter } from "@bonsai-agent/messages";
import { askedText } from "@bonsai-agent/messages/host";
import { count as digits } from "@bonsai-agent/messages/numbers";
import { type Entry, type ProjectionItem, project, type Session } from "@bonsai-agent/session";
import { UndoneCompactions } from "@bonsai-agent/session/host";
import {
  besideOf,
  type CarriedCounts,
  type Closing,
  type SpanRecord,
  storedDetails,
  type UserWords,
} from "../details.ts";
import type { CompactionPlan } from "../plan/cut.ts";
import type { Budgets } from "../plan/limits.ts";
import { clip, originalMessage, type ViewItem, viewTokens } from "../plan/view.ts";
import { type RecordedMessage, type RecordOptions, recordAfter } from "../record/record.ts";
import { clippedWords, isOfProgram, wordLines } from "../record/statements.ts";
import type { CompactionSettings } from "../settings.ts";
import { type ExtensionCarryOver, renderExtensionCarryOver } from "./extension-carry.ts";
import { block, type FileLists, filesOf, renderFiles } from "./files.ts";

/** Data that survives every compaction, outside the prose. */
export interface CarryOver extends FileLists {
  /** Texts that the user pinned. */
  pinned: readonly string[];
  /** The user's latest request. Undefined if a kept message is one. */
  latestRequest: LatestRequest | undefined;
  /** The record of the span, which the next compaction updates. */
  record: SpanRecord;
  /** Tokens that the user's words may take in the summary. */
  wordsTokens: number;
  /** The topic of the words that come first if not all fit. */
  focus?: string | undefined;
  /** The agent's answers that a digest shows between the user's words. */
  closings: readonly Closing[];
  /** The index of terms, as lines, without terms that the context shows anyway. */
  terms: readonly string[];
  /** Facts that the prose left out and the loss check added, as lines. */
  putBack: readonly string[];
  /** True for a short span, whose summary carries no terms, no files and no added facts. */
  isBrief?: boolean | undefined;
  /** Texts of extensions, for this compaction only. */
  extensions?: ExtensionCarryOver | undefined;
}

interface LatestRequest {
  entryId: string;
  /** Word for word; a text above the limit is clipped and has a note. */
  text: string;
}

interface CarryOverOptions
  extends Pick<CarryOver, "record" | "pinned" | "wordsTokens">,
    Pick<Budgets, "windowTokens"> {
  focus: string | undefined;
  secrets: SecretFilter;
}

/**
 * Collects the data that a compaction by this plan carries, from the span and from earlier summaries of ours. The index
 * of terms and the added facts depend on the prose; `checkedCarryOver` adds them.
 */
export function carryOver(
  plan: CompactionPlan,
  { record, secrets, pinned, focus, wordsTokens, windowTokens }: CarryOverOptions,
): CarryOver {
  return {
    pinned,
    ...secrets.value(planFiles(plan)),
    latestRequest: latestRequest(plan, latestRequestChars({ windowTokens }), secrets),
    record,
    wordsTokens,
    ...(focus !== undefined && { focus: secrets.text(focus) }),
    closings: [],
    terms: [],
    putBack: [],
    ...(isShort(plan) && { isBrief: true }),
  };
}

/** Cache by plan, because each rung of a run needs the files. */
const files = new WeakMap<SummarisedPlan, FileLists>();

/** The files of the summarised messages and of earlier summaries. */
export function planFiles(plan: SummarisedPlan): FileLists {
  const known = files.get(plan) ?? spanFiles(plan);
  files.set(plan, known);
  return known;
}

function spanFiles({ previous, history, turnPrefix }: SummarisedPlan): FileLists {
  const span = [...history, ...turnPrefix];
  return filesOf(span, [previous, ...span.map((item) => item.entry)]);
}

/** For a smaller span, the full carry-over would take more tokens than the summary saves. */
const BRIEF_SPAN_TOKENS = 4_000;

/** True for a span that gets the brief carry-over. */
function isShort(plan: SummarisedPlan): boolean {
  const { previousTokens, newTokens } = replacedTokens(plan);
  return previousTokens + newTokens < BRIEF_SPAN_TOKENS;
}

/** Upper bounds for each part of the carry-over: share of the window, share of the span, and a minimum in tokens. */
const CARRY_LIMITS = {
  words: { window: 1 / 10, span: 2 / 5, minTokens: 300 },
  terms: { window: 1 / 40, span: 1 / 12, minTokens: 0 },
  putBack: { window: 1 / 80, span: 1 / 20, minTokens: 0 },
};

/** Tokens that a summary replaces: those of the earlier summary, and those of the newly summarised messages. */
export function replacedTokens({ previous, history, turnPrefix }: SummarisedPlan) {
  const previousTokens = typeof previous?.summary === "string" ? estimateTokens(previous.summary) : 0;
  return { previousTokens, newTokens: viewTokens(history) + viewTokens(turnPrefix) };
}

type SummarisedPlan = Pick<CompactionPlan, "previous" | "history" | "turnPrefix">;

/** Maximum tokens of added facts, about 20 lines. `CARRY_LIMITS` lowers it in small windows. */
const PUT_BACK_TOKENS = 500;

/** Maximum tokens of the parts of the carry-over, by the settings, the window and the size of the span. */
export function carriedTokens(
  plan: SummarisedPlan,
  settings: CompactionSettings,
  windowTokens = Number.POSITIVE_INFINITY,
): Record<keyof typeof CARRY_LIMITS, number> {
  const { previousTokens, newTokens } = replacedTokens(plan);
  const isBrief = isShort(plan);
  const ofSpan = (part: keyof typeof CARRY_LIMITS, shownTokens = 0) => {
    const { minTokens, span } = CARRY_LIMITS[part];
    return Math.max(minTokens, (previousTokens + newTokens) * span, shownTokens + newTokens * span);
  };
  const most = (part: keyof typeof CARRY_LIMITS, setting: number, shownTokens?: number) =>
    Math.floor(Math.min(setting, windowTokens * CARRY_LIMITS[part].window, ofSpan(part, shownTokens)));
  return {
    // Words that the previous summary showed keep their room: short spans must not wear them away.
    words: most("words", settings.words.maxTokens, shownWordsTokens(plan.previous)),
    terms: isBrief ? 0 : most("terms", settings.terms.maxTokens),
    putBack: settings.lossCheck === "putBack" && !isBrief ? most("putBack", PUT_BACK_TOKENS) : 0,
  };
}

/** Tokens of the user's words in the previous summary, up to its limit: a digest has the agent's answers there too. */
function shownWordsTokens(previous: CompactionPlan["previous"]): number {
  const { record, wordsTokens } = storedDetails(previous);
  if (wordsTokens === 0 || record === undefined) return 0;
  const summary = typeof previous?.summary === "string" ? previous.summary : "";
  const from = summary.lastIndexOf("\n<user-words>\n");
  const to = summary.indexOf("\n</user-words>\n", from);
  return from < 0 || to < 0 ? 0 : Math.min(wordsTokens, estimateTokens(summary.slice(from, to)));
}

const LATEST_REQUEST = { minimumChars: 4_000, maximumChars: 40_000 };

/**
 * Maximum characters of a request that is carried word for word: an eighth of the window. A longer one keeps head and
 * tail.
 */
export function latestRequestChars({ windowTokens }: Pick<Budgets, "windowTokens">): number {
  if (windowTokens === undefined) return LATEST_REQUEST.maximumChars;
  const chars = Math.floor(windowTokens / 2);
  return Math.min(LATEST_REQUEST.maximumChars, Math.max(LATEST_REQUEST.minimumChars, chars));
}

function latestRequest(
  plan: CompactionPlan,
  maxChars: number,
  secrets: SecretFilter,
): LatestRequest | undefined {
  if (plan.kept.some((item) => requestText(item) !== undefined)) return undefined;
  const item = [...plan.history, ...plan.turnPrefix].findLast((each) => requestText(each) !== undefined);
  if (item === undefined) return secrets.value(storedDetails(plan.previous).latestRequest);
  const text = secrets.text(requestText(item) ?? "");
  if (text.length <= maxChars) return { entryId: item.entryId, text };
  const note = `\n[Shortened. The full text of ${digits(text.length)} characters is in entry ${item.entryId}.]`;
  return { entryId: item.entryId, text: clip(text, maxChars) + note };
}

/** The text of a person's request; undefined for other messages. */
function requestText(item: ViewItem): string | undefined {
  const message = originalMessage(item);
  if (message.role !== "user" || isOfProgram(message)) return undefined;
  const text = askedText(message);
  return text.trim() === "" ? undefined : text;
}

/**
 * The non-empty blocks of the carry-over, in the order of the summary. All files are one block, and so are all texts of
 * extensions.
 */
export function carriedBlocks(carried: CarryOver): string[] {
  const { latestRequest: request, isBrief } = carried;
  return [
    block("pinned", carried.pinned),
    ...(isBrief ? [block("user-words", carriedWords(carried))] : recordBlocks(carried)),
    isBrief ? "" : renderFiles(carried),
    block("latest-request", request === undefined ? [] : [request.text]),
    carried.extensions === undefined ? "" : renderExtensionCarryOver(carried.extensions),
  ].filter((text) => text !== "");
}

/** The blocks of the user's words, of the index of terms, and of the added facts. */
export function recordBlocks(carried: CarriedWords & Pick<CarryOver, "terms" | "putBack">): string[] {
  return [
    block("user-words", carriedWords(carried)),
    block("terms", carried.terms),
    block("put-back", carried.putBack),
  ].filter((text) => text !== "");
}

/** Counts the user's words and terms that the summary carries. */
export function carriedCounts(carried: CarriedWords): CarriedCounts {
  const { said, leftOut } = shownWords(carried);
  return { words: said.length, wordsLeftOut: leftOut, knownTerms: carried.record.terms.uses.length };
}

/** The user's words, as lines, without the latest request, which has its own block. */
export function carriedWords(carried: CarriedWords): string[] {
  const { wordsTokens, latestRequest, closings } = carried;
  if (wordsTokens === 0) return [];
  return wordLines(shownWords(carried), { without: latestRequest?.entryId, closings });
}

function shownWords({ record: { words }, wordsTokens, focus }: CarriedWords): UserWords {
  return wordsTokens > 0
    ? clippedWords(words, { maxTokens: wordsTokens, focus })
    : { ...words, said: [], leftOut: words.leftOut + words.said.length };
}

type CarriedWords = Pick<CarryOver, "record" | "wordsTokens" | "focus" | "latestRequest" | "closings">;

/** The details of a summary without its manifest: the carried data and the prose. */
export function summaryDetails({ extensions, pinned, closings, ...carried }: CarryOver, prose: string) {
  return {
    ...carried,
    prose,
    ...(pinned.length > 0 && { pinned }),
    ...(closings.length > 0 && { closings }),
    ...(extensions && { carryOver: extensions }),
  };
}

/** The path whose spans are recorded. */
export interface RecordSource {
  readonly session: Session;
  readonly leafId: string | null;
  readonly secrets: SecretFilter;
  /** Tokens of the user's words that the settings allow. */
  readonly wordsTokens: number;
}

/** Cache by plan: each rung of a run needs the record, and an extension may use another focus. */
const records = new WeakMap<CompactionPlan, { focus: string | undefined; record: SpanRecord }>();

/**
 * Returns the record of the messages that this plan summarises, with the record of earlier compactions.
 * @param focus topics that the summary must emphasise
 */
export function spanRecord(
  plan: CompactionPlan,
  source: RecordSource,
  focus: string | undefined,
): SpanRecord {
  const known = records.get(plan);
  if (known !== undefined && known.focus === focus) return known.record;
  const record = recordOfItems({
    earlier: earlierRecord(plan, source),
    items: [...plan.history, ...plan.turnPrefix].map(({ source }) => source),
    following: plan.kept.map(({ source }) => source),
    wordsTokens: source.wordsTokens,
    focus,
    secrets: source.secrets,
  });
  records.set(plan, { focus, record });
  return record;
}

const learned = new WeakSet<Session>();
/** Above this size, only the tail is read for the names of secrets. */
const MAX_LEARNED_BYTES = 4_000_000;

/** Redacts what a session's summaries keep. It also knows values whose names only earlier spans contain. */
export function sessionSecrets(session: Session, leafId: string | null): SecretFilter {
  const secrets = SecretFilter.of(session);
  if (learned.has(session)) return secrets;
  learned.add(session);
  secrets.learn(session.sizeBytes <= MAX_LEARNED_BYTES ? session.path(leafId) : session.tail(leafId));
  return secrets;
}

interface ItemsOptions extends Omit<RecordOptions, "messages" | "following"> {
  /** Oldest first. */
  items: readonly ProjectionItem[];
  following?: readonly ProjectionItem[];
}

/** The record of some items of a context. */
export function recordOfItems({ items, following = [], wordsTokens, ...others }: ItemsOptions): SpanRecord {
  return recordAfter({
    ...others,
    messages: items.map(recorded),
    following: following.map(recorded),
    wordsTokens: Math.max(MIN_WORDS_TOKENS, wordsTokens),
  });
}

/** The record keeps this much even if the settings show less, because settings can change. */
const MIN_WORDS_TOKENS = 4_000;

function recorded(source: ProjectionItem): RecordedMessage {
  const { entryId, entry } = source;
  return { message: originalMessage({ source }), entryId, record: storedDetails(entry).record };
}

/** The record of the earlier compaction. If another program made that compaction, its entries are read again, once. */
function earlierRecord({ previous, ...plan }: CompactionPlan, source: RecordSource): SpanRecord | undefined {
  const { record } = storedDetails(previous);
  if (previous === undefined || record !== undefined) return record;
  const path = source.session.path(source.leafId);
  const placeOf = (entryId: string) => path.findIndex(({ id }) => id === entryId);
  const [first] = [...plan.history, ...plan.turnPrefix, ...plan.kept];
  const end = placeOf(first?.entryId ?? previous.id);
  const before = path.slice(0, end < 0 ? path.length : end);
  const former = formerRecord(path.slice(0, placeOf(previous.id)));
  const entries = before.slice(former.from).filter(({ type }) => type !== "compaction");
  // Later edits were deliberate, so the record leaves out the content that they removed.
  const edits = path.slice(before.length).filter(({ type }) => type === "context_edit");
  const { wordsTokens, secrets } = source;
  const { items } = project([...entries, ...edits]);
  return recordOfItems({ earlier: former.record, items, wordsTokens, secrets });
}

/** The latest valid record on a path, and the index of the first entry that it does not cover. */
function formerRecord(path: readonly Entry[]): { record?: SpanRecord; from: number } {
  const undone = new UndoneCompactions();
  for (const entry of path.toReversed()) {
    undone.addOlder(entry);
    if (undone.has(entry.id)) continue;
    const isCompaction = entry.type === "compaction";
    const { record } = besideOf(entry) ?? (isCompaction ? storedDetails(entry) : {});
    if (record === undefined) continue;
    const firstKeptEntryId = isCompaction ? entry.firstKeptEntryId : besideOf(entry)?.firstKeptEntryId;
    const from = path.findIndex(({ id }) => id === firstKeptEntryId);
    return { record, from: from < 0 ? path.indexOf(entry) + 1 : from };
  }
  return { from: 0 };
}
