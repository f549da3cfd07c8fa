import { estimateTokens, redactSecrets, type SecretFilter } from "@bonsai-agent/messages";
import { askedText, escapeMarks, FRAMES, MARKS, paragraphs, readSummary } from "@bonsai-agent/messages/host";
import { count as digits } from "@bonsai-agent/messages/numbers";
import type { CompactionEntry } from "@bonsai-agent/session";
import {
  type CarriedCounts,
  type Closing,
  type SpanRecord,
  storedDetails,
  type UserWords,
} from "../details.ts";
import type { CompactionPlan } from "../plan/cut.ts";
import type { Budgets } from "../plan/limits.ts";
import { clip, originalMessage, type ViewItem, viewTokens } from "../plan/view.ts";
import { clippedWords, closingLine, isOfProgram, wordLines } from "../record/statements.ts";
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
  /** True if each line of the user's words names its entry, because a branch restarts the numbers. */
  namesEntries?: boolean | undefined;
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
  terms: { window: 1 / 80, span: 1 / 8, minTokens: 0 },
  putBack: { window: 1 / 20, span: 1 / 10, minTokens: 0 },
};

/** Tokens that a summary replaces: those of the earlier summary, and those of the newly summarised messages. */
export function replacedTokens({ previous, history, turnPrefix }: SummarisedPlan) {
  const previousTokens = typeof previous?.summary === "string" ? estimateTokens(previous.summary) : 0;
  return { previousTokens, newTokens: viewTokens(history) + viewTokens(turnPrefix) };
}

type SummarisedPlan = Pick<CompactionPlan, "previous" | "history" | "turnPrefix">;

/** Maximum tokens of added facts, about 70 lines. `CARRY_LIMITS` lowers it in small windows. */
const PUT_BACK_TOKENS = 2_000;

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

/** The summary stays in view when the user asks for something else. */
export const LATEST_REQUEST_NOTE =
  "The user's latest request when this record was made. A user message after the record replaces it.";

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
    block("latest-request", request === undefined ? [] : [LATEST_REQUEST_NOTE, request.text]),
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
  const { wordsTokens, latestRequest, closings, namesEntries } = carried;
  if (wordsTokens === 0) return [];
  return wordLines(shownWords(carried), { without: latestRequest?.entryId, closings, namesEntries });
}

function shownWords({ record: { words }, wordsTokens, focus }: CarriedWords): UserWords {
  return wordsTokens > 0
    ? clippedWords(words, { maxTokens: wordsTokens, focus })
    : { ...words, said: [], leftOut: words.leftOut + words.said.length };
}

type CarriedWords = Pick<
  CarryOver,
  "record" | "wordsTokens" | "focus" | "latestRequest" | "closings" | "namesEntries"
>;

/** The details of a summary without its manifest: the carried data and the prose. */
export function summaryDetails(
  { extensions, pinned, closings, namesEntries: _, ...carried }: CarryOver,
  prose: string,
) {
  return {
    ...carried,
    prose,
    ...(pinned.length > 0 && { pinned }),
    ...(closings.length > 0 && { closings }),
    ...(extensions && { carryOver: extensions }),
  };
}

const NO_HISTORY = "No earlier history.";

/** The summary as the model will see it: the framed prose and the carried data. */
export function summaryText(prose: string, carried: CarryOver): string {
  return paragraphs([
    FRAMES.record.begin,
    prose,
    setApart(paragraphs(carriedBlocks(carried))),
    FRAMES.record.end,
  ]);
}

/** An extension's own summary, followed by the carried data. */
export function withCarriedOver(summary: string, carried: string): string {
  return carried === "" ? summary : `${summary.trimEnd()}\n\n${setApart(carried)}`;
}

/** A branch's summary as the model will see it. */
export function branchSummaryText(prose: string, files: string, { isMerge }: { isMerge: boolean }): string {
  const { begin, end } = isMerge ? FRAMES.mergeRecord : FRAMES.branchRecord;
  return paragraphs([begin, prose, setApart(files), end]);
}

function setApart(carried: string): string {
  return carried === "" ? "" : `${MARKS.carried}\n\n${carried}`;
}

const JOINT = `\n\n---\n\n${MARKS.splitTurn}\n\n`;

/** The prose of a split turn's two summaries, history first. */
export function joinedProse(history: string | undefined, turnPrefix: string | undefined): string {
  if (turnPrefix === undefined) return history ?? NO_HISTORY;
  return `${history ?? NO_HISTORY}${JOINT}${withoutEmptySections(turnPrefix) || "(none)"}`;
}

/** The text without headings that have nothing below them. */
function withoutEmptySections(text: string): string {
  const kept: string[] = [];
  /** Level of the heading that was kept last: a heading above it with a lower level is its parent. */
  let levelBelow = 0;
  for (const block of text.split(/^(?=#{1,6}\s)/m).toReversed()) {
    const level = /^#*/.exec(block)![0].length;
    if (isEmptyPortion(block) && level >= levelBelow) continue;
    kept.push(block);
    levelBelow = level;
  }
  return kept.toReversed().join("").trim();
}

/** True if each portion has only headings and words for "none". */
export function isEmptySummary(prose: string): boolean {
  return prose.split(JOINT).every((portion) => portion.trim() === NO_HISTORY || isEmptyPortion(portion));
}

function isEmptyPortion(portion: string): boolean {
  return portion
    .split("\n")
    .filter((line) => !/^\s{0,3}#{1,6}(?:\s|$)/.test(line))
    .map(withoutMarkup)
    .every((text) => text === "" || NOTHING.test(text));
}

/** Words for "none", with words that may follow. Models keep the headings, but answer in the user's language. */
const NOTHING =
  /^(?:none|nothing|nil|null|n\/?a|n\.\s?a|empty|not applicable|keine?[nrs]?|nichts|entfällt|aucune?|rien|néant|ningun[oa]|nada|nenhuma?|nessun[oa]|niente|geen|niets|brak|ingen|inget|yok|нет|ничего|немає|無|无|無し|没有|沒有|なし|特になし|없음|لا شيء|لا يوجد)(?:\s(?:yet|so far|known|found|applicable|to (?:report|note|add|say)))?$/iu;

/** A longer line is no word for "none". */
const MAX_EMPTY_LINE_CHARS = 60;

/** A line without list marks, emphasis and punctuation around it; empty for a few words in brackets, such as "(none)". */
function withoutMarkup(line: string): string {
  if (line.length > MAX_EMPTY_LINE_CHARS) return /[\p{L}\p{N}]/u.test(line) ? line : "";
  const item = line.replace(/^[\s>]*(?:[-*+•–—]|\d{1,3}[.)])?\s*(?:\[[ xX]?\])?\s*/, "");
  if (/^[\s*_`~]*[(（][^()（）\d/\\.]{1,24}[)）][\s*_`~.。]*$/.test(item)) return "";
  return item.replace(/^[^\p{L}\p{N}]+/u, "").replace(/[^\p{L}\p{N}]+$/u, "");
}

/** Heading of the agent's answers that a digest quoted beside the user's words. */
const SAID = "## The agent's answers";

/** The prose of an earlier compaction, without frame and carried data. An update starts from it. */
export function previousProse(entry: CompactionEntry | undefined): string | undefined {
  return entry && redactSecrets(storedProse(entry));
}

function storedProse(entry: CompactionEntry): string {
  const { prose = "", closings, manifest } = storedDetails(entry);
  if (prose.trim() !== "") {
    const said = closings.map((closing) => closingLine(closing));
    const whole = paragraphs([prose, said.length === 0 ? "" : [SAID, ...said].join("\n")]);
    return manifest?.splitTurn === true ? safeProse(whole) : escapeMarks(whole);
  }
  return safeProse(readSummary(typeof entry.summary === "string" ? entry.summary : "").prose).trim();
}

/**
 * A summary without its frame and carried-over data, with all marks in its prose escaped.
 * @param tags the tags of extensions that the carried data can contain
 */
export function strippedSummary(summary: string, tags: readonly string[] = []): string {
  return escapeMarks(readSummary(summary, tags).prose, tags).trim();
}

/** Escapes all marks in a prose except the joint of its two portions. */
export function safeProse(prose: string, tags: readonly string[] = []): string {
  const at = prose.lastIndexOf(JOINT);
  if (at < 0) return escapeMarks(prose, tags);
  return escapeMarks(prose.slice(0, at), tags) + JOINT + escapeMarks(prose.slice(at + JOINT.length), tags);
}

/** The prose of our summary after an extension edited it: all text outside our frame, heading and blocks. */
export function editedProse(summary: string, tags: readonly string[] = []): string {
  const marks = new Set<string>(SUMMARY_FRAMES.flatMap(({ begin, end }) => [begin, end]));
  const ownTags: readonly string[] = [...MARKS.tags, ...tags];
  const prose: string[] = [];
  let isCarried = false;
  let open: string | undefined;
  for (const line of summary.split("\n")) {
    const [, tag = ""] = /^<([a-z][a-z-]*)>$/.exec(line) ?? [];
    if (open !== undefined) open = line === `</${open}>` ? undefined : open;
    else if (line === MARKS.carried) isCarried = true;
    else if (isCarried && ownTags.includes(tag)) open = tag;
    else if (!marks.has(line)) prose.push(line);
  }
  return prose
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
}

const SUMMARY_FRAMES = [FRAMES.record, FRAMES.branchRecord, FRAMES.mergeRecord] as const;
