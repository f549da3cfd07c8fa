import { estimateTokens, type SecretFilter } from "@bonsai-agent/messages";
import { askedText, clip, isOfProgram, isOwnTag, paragraphs } from "@bonsai-agent/messages/host";
import { count as digits } from "@bonsai-agent/messages/numbers";
import {
  type CarriedCounts,
  type Closing,
  emptyRecord,
  isOwnDetails,
  readDetails,
  type SpanRecord,
  storedDetails,
  type UserWords,
} from "../details.ts";
import type { Budgets } from "../plan/limits.ts";
import type { CompactionPlan } from "../plan/plan.ts";
import { originalMessage, type ViewItem, viewTokens } from "../plan/view.ts";
import { clippedWords, wordLines } from "../record/statements.ts";
import type { CompactionSettings } from "../settings.ts";
import { block, estimateUpward, type FileLists, filesOf, renderFiles } from "./files.ts";

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

/** The files of the summarised messages and of earlier summaries. */
export function planFiles({ previous, history, turnPrefix }: SummarisedPlan): FileLists {
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
  return { previousTokens, newTokens: viewTokens([...history, ...turnPrefix]) };
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
    renderExtensionCarryOver(carried.extensions),
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
export function summaryDetails(carried: CarryOver, prose: string) {
  const {
    readFiles,
    modifiedFiles,
    recentFiles,
    recentEntries,
    pinned,
    latestRequest,
    extensions: carryOver,
  } = carried;
  const { record, wordsTokens, focus, closings, terms, putBack, isBrief } = carried;
  return {
    readFiles,
    modifiedFiles,
    recentFiles,
    recentEntries,
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
  const {
    recentFiles,
    recentEntries,
    pinned,
    latestRequest,
    record = emptyRecord,
    wordsTokens,
    focus,
  } = stored;
  const { closings, terms, putBack, isBrief } = stored;
  const files = { readFiles, modifiedFiles, recentFiles, recentEntries };
  const words = { pinned, latestRequest, record, wordsTokens, focus, closings, terms, putBack };
  return { prose, carried: { ...files, ...words, isBrief } };
}

/** Texts that extensions carry, by tag. */
export type ExtensionCarryOver = Readonly<Record<string, readonly string[]>>;

/** Maximum tokens of all texts of extensions; in a small window, an eighth of it. */
const CARRIED_TOKENS = 2_000;
const WINDOW_SHARE = 1 / 8;

const TAG = /^[a-z][a-z-]*$/;
const MAX_TAG_CHARS = 40;

/** Checks an extension's carry-over. Returns true, or a description of the fault. */
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
 * Bounds the texts of extensions. Each tag gets an equal share of the tokens that the tags before it left. Its texts
 * are added in order: the first that does not fit is cut to head and tail, and those after it are counted.
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

/** A shorter clip is of no use beside the mark of the missing part. */
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

/** The blocks of extensions' texts, as the summary contains them; empty without texts. */
export function renderExtensionCarryOver(carryOver: ExtensionCarryOver = {}): string {
  const tags = Object.keys(carryOver);
  return paragraphs(Object.entries(carryOver).map(([tag, texts]) => block(tag, texts, tags)));
}
