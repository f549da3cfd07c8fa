import { BonsaiError, contentText, withoutReminders } from "@bonsai-agent/messages";
import {
  type CustomMessageEntry,
  type Entry,
  type EntryDraftWithId,
  PIN_CUSTOM_TYPE,
  PINNED_CUSTOM_TYPE,
  type PinChange,
  pinChange,
  type Session,
  UNPIN_CUSTOM_TYPE,
} from "@bonsai-agent/session";
import { undoneBy } from "@bonsai-agent/session/host";
import { type Budgets, highTokens } from "./budget.ts";
import { block, type FileLists, filesOf, renderFiles } from "./files.ts";
import { inert, isOwnTag } from "./marks.ts";
import { digits, isMadeHere, ownDetails, texts } from "./outcome.ts";
import type { CompactionPlan } from "./plan.ts";
import { clip, paragraphs } from "./serialise.ts";
import { originalMessage, type ViewItem } from "./view.ts";

/** What survives every compaction as data, outside the prose. */
export interface CarryOver extends FileLists {
  /** Texts that the user wants kept for good. */
  pinned: readonly string[];
  /** The user's latest request, where the kept part does not hold it. */
  latestRequest: LatestRequest | undefined;
  /** What extensions asked for at this compaction; the next one asks anew. */
  extensions?: ExtensionCarryOver | undefined;
}

interface LatestRequest {
  entryId: string;
  /** Word for word, up to the limit. */
  text: string;
}

/** What a compaction by this plan carries over: from the span, and from earlier summaries of ours. */
export function carryOver(
  plan: CompactionPlan,
  { pinned, budgets }: { pinned: readonly string[]; budgets: Budgets },
): CarryOver {
  const span = [...plan.history, ...plan.turnPrefix];
  const earlier = [plan.previous, ...span.map((item) => item.entry)];
  return {
    pinned,
    ...filesOf(span, earlier),
    latestRequest: latestRequest(plan, latestRequestChars(budgets)),
  };
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

function latestRequest(plan: CompactionPlan, maxChars: number): LatestRequest | undefined {
  if (plan.kept.some((item) => requestText(item) !== undefined)) return undefined;
  const item = [...plan.history, ...plan.turnPrefix].findLast((each) => requestText(each) !== undefined);
  if (item === undefined) return earlierRequest(ownDetails(plan.previous).latestRequest);
  const text = requestText(item) ?? "";
  if (text.length <= maxChars) return { entryId: item.entryId, text };
  const note = `\n[Cut: the whole text, ${digits(text.length)} characters, is in entry ${item.entryId}.]`;
  return { entryId: item.entryId, text: clip(text, maxChars) + note };
}

/** What a person typed; undefined for anything else. */
function requestText(item: ViewItem): string | undefined {
  const message = originalMessage(item);
  if (message.role !== "user") return undefined;
  const text = contentText(message.content);
  return withoutReminders(text).trim() === "" ? undefined : text;
}

/** A latest request as details store it; undefined for anything else. */
function earlierRequest(value: unknown): LatestRequest | undefined {
  const { entryId, text } = (value ?? {}) as Partial<LatestRequest>;
  return typeof entryId === "string" && typeof text === "string" ? { entryId, text } : undefined;
}

/** The blocks of the carry-over as they stand in the summary, those of files and of extensions as one each. */
export function carriedBlocks(carried: CarryOver): string[] {
  const { latestRequest: request } = carried;
  return [
    block("pinned", carried.pinned),
    renderFiles(carried),
    block("latest-request", request === undefined ? [] : [request.text]),
    renderExtensionCarryOver(carried.extensions),
  ].filter((text) => text !== "");
}

/** What a summary's details hold beside the manifest: what it carries over, and its prose. */
export function summaryDetails(carried: CarryOver, prose: string) {
  const { readFiles, modifiedFiles, recentFiles, pinned, latestRequest, extensions: carryOver } = carried;
  return {
    readFiles,
    modifiedFiles,
    recentFiles,
    prose,
    ...(pinned.length === 0 ? {} : { pinned }),
    ...(latestRequest === undefined ? {} : { latestRequest }),
    ...(carryOver === undefined ? {} : { carryOver }),
  };
}

/** Reads details that `summaryDetails` made; undefined for an extension's own. */
export function summaryOfDetails(details: unknown): { prose: string; carried: CarryOver } | undefined {
  if (!isMadeHere(details)) return undefined;
  const stored: Record<string, unknown> = { ...details };
  return {
    prose: details.prose,
    carried: {
      pinned: texts(stored.pinned),
      readFiles: texts(stored.readFiles),
      modifiedFiles: texts(stored.modifiedFiles),
      recentFiles: texts(stored.recentFiles),
      latestRequest: earlierRequest(stored.latestRequest),
    },
  };
}

/** Texts that extensions want carried over, by tag. */
export type ExtensionCarryOver = Readonly<Record<string, readonly string[]>>;

/** What all that extensions carry over may take of the context; in a small window, an eighth of it. */
const CARRIED_TOKENS = 2_000;
const WINDOW_SHARE = 1 / 8;

const TAG = /^[a-z][a-z-]*$/;
const LONGEST_TAG = 40;

/** True for what can be carried over, else what is wrong with it. */
export function checkCarryOver(value: unknown): true | string {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return "a carryOver that is no object of lists";
  for (const [tag, texts] of Object.entries(value)) {
    const named = `a carryOver with the tag ${JSON.stringify(tag)}`;
    if (isOwnTag(tag)) return `${named}, which is Bonsai's own`;
    if (!TAG.test(tag) || tag.length > LONGEST_TAG)
      return `${named} (allowed are up to ${LONGEST_TAG} letters a to z and hyphens, a letter first)`;
    if (!Array.isArray(texts) || !texts.every((text) => typeof text === "string"))
      return `${named} whose value is no list of texts`;
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
const LEAST_CHARS = 200;

function clipped(text: string, maxTokens: number): string {
  let chars = Math.max(LEAST_CHARS, maxTokens * 4);
  while (chars > LEAST_CHARS && highTokens(clip(text, chars)) > maxTokens)
    chars = Math.max(LEAST_CHARS, Math.floor(chars * 0.8));
  return clip(text, chars);
}

function tokensOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + highTokens(`${text}\n`), 0);
}

/** The data blocks as they stand in the summary; empty where there is nothing. */
export function renderExtensionCarryOver(carryOver: ExtensionCarryOver = {}): string {
  const tags = Object.keys(carryOver);
  return paragraphs(Object.entries(carryOver).map(([tag, texts]) => block(tag, texts, tags)));
}

/** A message of the session that pins or unpins a text: append it, or have the agent send it. */
type PinMessage = Pick<CustomMessageEntry, "customType" | "content" | "display" | "details">;

/** Characters of one pinned text, and of all of a path: a summary carries every one of them word for word. */
const LONGEST_CHARS = 4_000;
const ALL_CHARS = 16_000;

/**
 * The texts that are pinned on a path, oldest first, each once. Reads no more than what the model sees of it.
 * @param leafId where the path ends; default: the session's leaf
 */
export function pinnedTexts(session: Session, leafId: string | null = session.leafId): string[] {
  const { before, changes } = changesSince(session, leafId);
  return changed(before, changes);
}

/**
 * The same at the session's leaf, as it will be.
 * @param waiting messages that are not stored yet, oldest first; others than those of pins count for nothing
 */
export function pinnedSoon(session: Session, waiting: readonly WaitingMessage[]): string[] {
  const changes = waiting.map((message) => pinChange(message)).filter((change) => change !== undefined);
  return changed(pinnedTexts(session), changes);
}

/** A message that waits to be stored. */
type WaitingMessage = Pick<CustomMessageEntry, "customType" | "details">;

function changed(before: readonly string[], changes: readonly PinChange[]): string[] {
  const held = new Set(before);
  for (const { text, isPinned } of changes) {
    if (!isPinned) held.delete(text);
    else held.add(text);
  }
  return [...held];
}

/** What a path pins and unpins, oldest first, since the latest word on all that was pinned before. */
function changesSince(session: Session, leafId: string | null) {
  const changes: PinChange[] = [];
  const undone = new Set<string | undefined>();
  for (const entry of session.tail(leafId)) {
    undone.add(undoneBy(entry));
    const before = undone.has(entry.id) ? undefined : pinnedBefore(entry);
    if (before !== undefined) return { before, changes: changes.reverse() };
    const change = pinChange(entry);
    if (change !== undefined) changes.push(change);
  }
  return { before: [], changes: changes.reverse() };
}

/** What was pinned before an entry, as the entry has it; undefined for one that has no list of that. */
function pinnedBefore(entry: Entry): string[] | undefined {
  if (entry.type === "custom" && entry.customType === PINNED_CUSTOM_TYPE)
    return texts((entry.data as { pinned?: unknown } | null | undefined)?.pinned);
  if (entry.type !== "compaction") return undefined;
  const { prose, pinned } = ownDetails(entry);
  return typeof prose === "string" ? texts(pinned) : undefined;
}

/** The entry to write beside a summary whose details cannot hold what is pinned; none where nothing is. */
export function pinnedDrafts(pinned: readonly string[]): EntryDraftWithId[] {
  return pinned.length === 0 ? [] : [{ type: "custom", customType: PINNED_CUSTOM_TYPE, data: { pinned } }];
}

/**
 * The message that pins a text: the model sees it from then on, after every compaction too. A text that is pinned already
 * counts once.
 * @param waiting as `pinnedSoon` has them. Default: none
 * @throws BonsaiError `pin_empty`, `pin_too_long`, `pins_full`
 */
export function pinMessage(
  session: Session,
  given: string,
  waiting: readonly WaitingMessage[] = [],
): PinMessage {
  const text = given.trim();
  if (text === "")
    throw new BonsaiError({
      code: "pin_empty",
      message: "There is no text to pin.",
      hint: "Say what the agent must keep to, like `/pin Never push to main.`",
    });
  if (text.length > LONGEST_CHARS)
    throw new BonsaiError({
      code: "pin_too_long",
      message: `A pinned text has at most ${digits(LONGEST_CHARS)} characters; this one has ${digits(text.length)}.`,
      hint: "Put it into a file of the project, and pin where it stands.",
    });
  const pinned = pinnedSoon(session, waiting);
  const usedChars = pinned.reduce((sum, each) => sum + each.length, 0);
  if (!pinned.includes(text) && usedChars + text.length > ALL_CHARS)
    throw new BonsaiError({
      code: "pins_full",
      message: `All pinned texts together have at most ${digits(ALL_CHARS)} characters; ${digits(Math.max(0, ALL_CHARS - usedChars))} are left, and this one has ${digits(text.length)}.`,
      hint: "Unpin what counts no more.",
    });
  return message(PIN_CUSTOM_TYPE, "The user has pinned this. It holds from here on:", text);
}

/** The message that takes a pin back: the next compaction does not carry the text any more. */
export function unpinMessage(text: string): PinMessage {
  return message(UNPIN_CUSTOM_TYPE, "The user has unpinned this. It does not hold any more:", text);
}

function message(customType: string, intro: string, text: string): PinMessage {
  const details = { text, line: inert(text) };
  return { customType, content: `${intro}\n\n${text}`, display: true, details };
}

/** The pinned texts that a summary does not hold word for word. */
export function pinsMissingIn(summary: string, pinned: readonly string[]): string[] {
  const lines = `\n${summary}\n`;
  return pinned.filter((text) => !lines.includes(`\n${inert(text)}\n`));
}
