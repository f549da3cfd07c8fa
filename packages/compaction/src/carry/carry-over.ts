import { estimateTokens, type SecretFilter } from "@bonsai-agent/messages";
import { askedText, clip, isOfProgram, isOwnTag } from "@bonsai-agent/messages/host";
import { count as digits } from "@bonsai-agent/messages/numbers";
import { paragraphs } from "../ladder/conversation.ts";
import type { Budgets } from "../plan/limits.ts";
import type { CompactionPlan } from "../plan/plan.ts";
import { originalMessage, type ViewItem, viewTokens } from "../plan/view.ts";
import type { Closing } from "../record/closings.ts";
import { emptyRecord, type SpanRecord } from "../record/record.ts";
import { clippedWords, type UserWords, wordLines } from "../record/words.ts";
import type { CompactionSettings } from "../settings.ts";
import { type CarriedCounts, isOwnDetails, readDetails, storedDetails } from "./details.ts";
import { block, estimateUpward, type FileLists, filesOf, renderFiles } from "./files.ts";
import { type RecordSource, sessionSecrets, spanRecord } from "./span-record.ts";

/** What survives every compaction as data, outside the prose. */
export interface CarryOver extends FileLists {
  /** Texts that the user wants kept for good. */
  pinned: readonly string[];
  /** The user's latest request, where the kept part does not hold it. */
  latestRequest: LatestRequest | undefined;
  /** What the span held, as data: the next compaction goes on from it. */
  record: SpanRecord;
  /** What the user's words may take of the summary, in tokens. */
  wordsTokens: number;
  /** What the user's words should be about above all, where there is no room for everything. */
  focus?: string | undefined;
  /** What the agent said, where a digest shows it between the user's words. */
  closings: readonly Closing[];
  /** The index of terms, as lines: what the context does not show anyway. */
  terms: readonly string[];
  /** What the prose left out and the loss check put back, as lines. */
  putBack: readonly string[];
  /** The summary of a short span shows nothing but pins, the latest request and the user's words. */
  isBrief?: boolean | undefined;
  /** What extensions asked for at this compaction; the next one asks anew. */
  extensions?: ExtensionCarryOver | undefined;
}

interface LatestRequest {
  entryId: string;
  /** Word for word, up to the limit. */
  text: string;
}

/**
 * What a compaction by this plan carries over: from the span, and from earlier summaries of ours. The index of terms, and
 * what is put back, depend on the prose and are added behind it.
 */
export function carryOver(
  plan: CompactionPlan,
  run: RecordSource & { pinned: readonly string[]; budgets: Budgets },
): CarryOver {
  const span = [...plan.history, ...plan.turnPrefix];
  const earlier = [plan.previous, ...span.map((item) => item.entry)];
  const record = spanRecord(plan, run);
  const secrets = sessionSecrets(run);
  return {
    pinned: run.pinned,
    ...secrets.value(filesOf(span, earlier)),
    latestRequest: latestRequest(plan, latestRequestChars(run.budgets), secrets),
    record,
    wordsTokens: carriedTokens(plan, run).words,
    ...(run.focus !== undefined && { focus: secrets.text(run.focus) }),
    closings: [],
    terms: [],
    putBack: [],
    ...(isShort(plan) && { isBrief: true }),
  };
}

/** Beside a shorter span, a whole carry-over takes more than the summary saves. */
const BRIEF_SPAN_TOKENS = 4_000;

/** True for a span so short that its summary carries the least. */
function isShort(plan: SummarisedPlan): boolean {
  const { previousTokens, newTokens } = replacedTokens(plan);
  return previousTokens + newTokens < BRIEF_SPAN_TOKENS;
}

/** What a part of the carry-over may take: of the window, and of what the summary stands for, but for so much. */
const CARRY_LIMITS = {
  words: { window: 1 / 10, span: 2 / 5, minTokens: 300 },
  terms: { window: 1 / 40, span: 1 / 12, minTokens: 0 },
  putBack: { window: 1 / 80, span: 1 / 20, minTokens: 0 },
};

/** What a summary stands for: the former one, and what is summarised anew. */
export function replacedTokens({ previous, history, turnPrefix }: SummarisedPlan) {
  const previousTokens = typeof previous?.summary === "string" ? estimateTokens(previous.summary) : 0;
  return { previousTokens, newTokens: viewTokens([...history, ...turnPrefix]) };
}

type SummarisedPlan = Pick<CompactionPlan, "previous" | "history" | "turnPrefix">;

/** About 20 lines, each a fact with its entry. In small windows `CARRY_LIMITS` lowers it. */
const PUT_BACK_TOKENS = 500;

/** Tokens that the parts of the carry-over may take by the settings, the window and the size of what is summarised. */
export function carriedTokens(
  { previous, history, turnPrefix }: SummarisedPlan,
  { settings, budgets }: { settings: CompactionSettings; budgets: Pick<Budgets, "windowTokens"> },
): Record<keyof typeof CARRY_LIMITS, number> {
  const { windowTokens = Number.POSITIVE_INFINITY } = budgets;
  const { previousTokens, newTokens } = replacedTokens({ previous, history, turnPrefix });
  const isBrief = isShort({ previous, history, turnPrefix });
  const ofSpan = (part: keyof typeof CARRY_LIMITS, shownTokens = 0) => {
    const { minTokens, span } = CARRY_LIMITS[part];
    return Math.max(minTokens, (previousTokens + newTokens) * span, shownTokens + newTokens * span);
  };
  const most = (part: keyof typeof CARRY_LIMITS, setting: number, shownTokens?: number) =>
    Math.floor(Math.min(setting, windowTokens * CARRY_LIMITS[part].window, ofSpan(part, shownTokens)));
  return {
    // What the previous summary showed goes on being shown: short spans must not wear the words away.
    words: most("words", settings.words.maxTokens, shownWordsTokens(previous)),
    terms: isBrief ? 0 : most("terms", settings.terms.maxTokens),
    putBack: settings.lossCheck === "putBack" && !isBrief ? most("putBack", PUT_BACK_TOKENS) : 0,
  };
}

/** What the user's words take of a summary of ours; in a digest, statements of the agent stand between them. */
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
 * The longest request that is carried over word for word, of a longer one head and tail: an eighth of the window, in
 * characters.
 */
export function latestRequestChars({ windowTokens }: Budgets): number {
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

/** What a person asked for; undefined for anything else. */
function requestText(item: ViewItem): string | undefined {
  const message = originalMessage(item);
  if (message.role !== "user" || isOfProgram(message)) return undefined;
  const text = askedText(message);
  return text.trim() === "" ? undefined : text;
}

/** The blocks of the carry-over as they stand in the summary, those of files and of extensions as one each. */
export function carriedBlocks(carried: CarryOver): string[] {
  const { latestRequest: request, isBrief } = carried;
  return [
    block("pinned", carried.pinned),
    ...(isBrief ? [block("user-words", carriedWords(carried))] : recordBlocks(carried)),
    isBrief ? "" : renderFiles(carried),
    block("latest-request", request === undefined ? [] : [request.text]),
    renderExtensionCarryOver(carried.extensions),
  ].filter((text) => text !== "");
}

/** The blocks of the user's words, of the index of terms, and of what was put back. */
export function recordBlocks(carried: CarriedWords & Pick<CarryOver, "terms" | "putBack">): string[] {
  return [
    block("user-words", carriedWords(carried)),
    block("terms", carried.terms),
    block("put-back", carried.putBack),
  ].filter((text) => text !== "");
}

/** How much of the record the summary carries. */
export function carriedCounts(carried: CarriedWords): CarriedCounts {
  const { said, leftOut } = shownWords(carried);
  return { words: said.length, wordsLeftOut: leftOut, knownTerms: carried.record.terms.uses.length };
}

/** The user's words, as lines; the latest request stands in a block of its own. */
export function carriedWords(carried: CarriedWords): string[] {
  const { wordsTokens, latestRequest, closings } = carried;
  if (wordsTokens === 0) return [];
  return wordLines(shownWords(carried), { without: latestRequest?.entryId, closings });
}

function shownWords({ record: { words }, wordsTokens, focus }: CarriedWords): UserWords {
  return wordsTokens > 0
    ? clippedWords(words, wordsTokens, focus)
    : { ...words, said: [], leftOut: words.leftOut + words.said.length };
}

type CarriedWords = Pick<CarryOver, "record" | "wordsTokens" | "focus" | "latestRequest" | "closings">;

/** What a summary's details hold beside the manifest: what it carries over, and its prose. */
export function summaryDetails(carried: CarryOver, prose: string) {
  const { readFiles, modifiedFiles, recentFiles, pinned, latestRequest, extensions: carryOver } = carried;
  const { record, wordsTokens, focus, closings, terms, putBack, isBrief } = carried;
  return {
    readFiles,
    modifiedFiles,
    recentFiles,
    prose,
    ...(pinned.length === 0 ? {} : { pinned }),
    ...(latestRequest === undefined ? {} : { latestRequest }),
    ...(carryOver === undefined ? {} : { carryOver }),
    record,
    wordsTokens,
    ...(focus === undefined ? {} : { focus }),
    ...(closings.length === 0 ? {} : { closings }),
    terms,
    putBack,
    ...(isBrief && { isBrief }),
  };
}

/** Reads details that `summaryDetails` made; undefined for an extension's own. */
export function summaryOfDetails(details: unknown): { prose: string; carried: CarryOver } | undefined {
  if (!isOwnDetails(details)) return undefined;
  const { prose = "", readFiles = [], modifiedFiles = [], ...stored } = readDetails(details);
  const { recentFiles, pinned, latestRequest, record = emptyRecord, wordsTokens, focus } = stored;
  const { closings, terms, putBack, isBrief } = stored;
  const files = { readFiles, modifiedFiles, recentFiles };
  const words = { pinned, latestRequest, record, wordsTokens, focus, closings, terms, putBack };
  return { prose, carried: { ...files, ...words, isBrief } };
}

/** Texts that extensions want carried over, by tag. */
export type ExtensionCarryOver = Readonly<Record<string, readonly string[]>>;

/** What all that extensions carry over may take of the context; in a small window, an eighth of it. */
const CARRIED_TOKENS = 2_000;
const WINDOW_SHARE = 1 / 8;

const TAG = /^[a-z][a-z-]*$/;
const MAX_TAG_CHARS = 40;

/** True for what can be carried over, else what is wrong with it. */
export function checkCarryOver(value: unknown): true | string {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return "a carryOver that is not an object of lists";
  for (const [tag, texts] of Object.entries(value)) {
    const named = `a carryOver with the tag ${JSON.stringify(tag)}`;
    if (isOwnTag(tag)) return `${named}, which is reserved for Bonsai`;
    if (!TAG.test(tag) || tag.length > MAX_TAG_CHARS)
      return `${named} (allowed: up to ${MAX_TAG_CHARS} letters a to z and hyphens, beginning with a letter)`;
    if (!Array.isArray(texts) || !texts.every((text) => typeof text === "string"))
      return `${named} whose value is not a list of texts`;
  }
  return true;
}

/**
 * As much as fits. Each tag gets an equal share of what those before it left; its texts are taken in order, the
 * first that does not fit is cut to head and tail, and those after it are counted.
 */
export function boundedCarryOver(
  carryOver: ExtensionCarryOver | undefined,
  windowTokens: number | undefined,
): ExtensionCarryOver {
  const given = Object.entries(carryOver ?? {})
    .map(([tag, texts]) => [tag, texts.filter((text) => text.trim() !== "")] as const)
    .filter(([, texts]) => texts.length > 0);
  let left = Math.min(CARRIED_TOKENS, Math.floor((windowTokens ?? Number.POSITIVE_INFINITY) * WINDOW_SHARE));
  const bounded = given.map(([tag, texts], at) => {
    const kept = withinTokens(texts, Math.floor(left / (given.length - at)));
    left -= tokensOf(kept);
    return [tag, kept] as const;
  });
  return Object.fromEntries(bounded);
}

function withinTokens(texts: readonly string[], maxTokens: number): string[] {
  const kept: string[] = [];
  let left = maxTokens;
  for (const [at, text] of texts.entries()) {
    const tokens = tokensOf([text]);
    if (tokens <= left) {
      kept.push(text);
      left -= tokens;
      continue;
    }
    const others = texts.length - at - 1;
    return [...kept, clipped(text, left), ...(others === 0 ? [] : [`(and ${others} more)`])];
  }
  return kept;
}

/** Fewer characters are no use beside the mark of what is missing. */
const MIN_CHARS = 200;

function clipped(text: string, maxTokens: number): string {
  let chars = Math.max(MIN_CHARS, maxTokens * 4);
  while (chars > MIN_CHARS && estimateUpward(clip(text, chars)) > maxTokens)
    chars = Math.max(MIN_CHARS, Math.floor(chars * 0.8));
  return clip(text, chars);
}

function tokensOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + estimateUpward(`${text}\n`), 0);
}

/** The data blocks as they stand in the summary; empty where there is nothing. */
export function renderExtensionCarryOver(carryOver: ExtensionCarryOver = {}): string {
  const tags = Object.keys(carryOver);
  return paragraphs(Object.entries(carryOver).map(([tag, texts]) => block(tag, texts, tags)));
}
