import { contentText } from "@bonsai-agent/messages";
import type { Entry } from "@bonsai-agent/session";
import { clip } from "./clip.ts";
import { originalMessage, type ViewItem } from "./context-view.ts";
import { fileOperations } from "./file-operations.ts";
import type { CompactionPlan } from "./plan.ts";
import { withoutReminders } from "./reminders.ts";

/** The files that a summary tells of. */
export interface FileLists {
  /** Sorted; without the modified ones. */
  readFiles: readonly string[];
  /** Sorted. */
  modifiedFiles: readonly string[];
  /** The files that were touched last, at most as many of each list as are shown. */
  recentFiles: readonly string[];
}

/** What survives every compaction as data, outside the prose. */
export interface CarryOver extends FileLists {
  /** Texts that the user wants kept for good. */
  pinned: readonly string[];
  /** The user's latest request, where the kept part does not hold it. */
  latestRequest: LatestRequest | undefined;
}

export interface LatestRequest {
  entryId: string;
  /** Word for word, up to the limit. */
  text: string;
}

export interface CarryOverOptions {
  plan: CompactionPlan;
  pinned?: readonly string[];
  /** The longest request that is carried word for word; of a longer one, head and tail. */
  latestRequestChars: number;
}

/** Files that each list of the summary shows; the others are counted. */
const SHOWN_FILES = 100;
/** Files that each list of the details keeps. */
const STORED_FILES = 2_000;

/** What a compaction by this plan carries over: from the span, and from earlier summaries of ours. */
export function carryOver({ plan, pinned = [], latestRequestChars }: CarryOverOptions): CarryOver {
  const span = [...plan.history, ...plan.turnPrefix];
  const earlier = [plan.previous, ...span.map((item) => item.entry)].map(ownDetails);
  return {
    pinned: [...new Set([...earlier.flatMap((details) => strings(details.pinned)), ...pinned])],
    ...filesOf(span, earlier),
    latestRequest: latestRequest(plan, latestRequestChars),
  };
}

/** The lists of files after a span, with what earlier summaries listed. Modified wins over read. */
export function filesOf(span: readonly ViewItem[], earlier: readonly Record<string, unknown>[]): FileLists {
  const now = fileOperations(span.map(originalMessage));
  const modified = unique([
    ...now.modified,
    ...earlier.toReversed().flatMap((each) => strings(each.modifiedFiles)),
  ]);
  const isModified = new Set(modified);
  const read = unique([
    ...now.read,
    ...earlier.toReversed().flatMap((each) => strings(each.readFiles)),
  ]).filter((file) => !isModified.has(file));
  const stored = (files: string[]) => files.slice(0, STORED_FILES).sort();
  return {
    readFiles: stored(read),
    modifiedFiles: stored(modified),
    recentFiles: [...read.slice(0, SHOWN_FILES), ...modified.slice(0, SHOWN_FILES)],
  };
}

/** The details of a summary that we wrote; nothing of an extension's own. */
export function ownDetails(entry: Entry | undefined): Record<string, unknown> {
  if (entry?.type !== "compaction" && entry?.type !== "branch_summary") return {};
  if (entry.fromHook || typeof entry.details !== "object" || entry.details === null) return {};
  return entry.details as Record<string, unknown>;
}

function latestRequest(plan: CompactionPlan, maxChars: number): LatestRequest | undefined {
  if (plan.kept.some((item) => requestText(item) !== undefined)) return undefined;
  const item = [...plan.history, ...plan.turnPrefix].findLast((each) => requestText(each) !== undefined);
  if (item === undefined) return earlierRequest(ownDetails(plan.previous).latestRequest);
  const text = requestText(item) ?? "";
  if (text.length <= maxChars) return { entryId: item.entryId, text };
  const note = `\n[Cut: the whole text, ${text.length.toLocaleString("en")} characters, is in entry ${item.entryId}.]`;
  return { entryId: item.entryId, text: clip(text, maxChars) + note };
}

/** What a person typed; undefined for anything else. */
function requestText(item: ViewItem): string | undefined {
  const message = originalMessage(item);
  if (message.role !== "user") return undefined;
  const text = contentText(message.content);
  return withoutReminders(text).trim() === "" ? undefined : text;
}

function earlierRequest(value: unknown): LatestRequest | undefined {
  const { entryId, text } = (value ?? {}) as Partial<LatestRequest>;
  return typeof entryId === "string" && typeof text === "string" ? { entryId, text } : undefined;
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}

/** The carry-over as it stands in the summary; empty where there is none. */
export function renderCarryOver(carried: CarryOver): string {
  const { latestRequest: request } = carried;
  return [
    block("pinned", carried.pinned),
    renderFiles(carried),
    block("latest-request", request === undefined ? [] : [request.text]),
  ]
    .filter((text) => text !== "")
    .join("\n\n");
}

/** The lists of files as they stand in a summary. */
export function renderFiles(files: FileLists): string {
  const recent = new Set(files.recentFiles);
  return [
    block("read-files", shownFiles(files.readFiles, recent)),
    block("modified-files", shownFiles(files.modifiedFiles, recent)),
  ]
    .filter((text) => text !== "")
    .join("\n\n");
}

function shownFiles(files: readonly string[], recent: ReadonlySet<string>): string[] {
  const shown = files.length <= SHOWN_FILES ? files : files.filter((file) => recent.has(file));
  const more = files.length - shown.length;
  return more === 0 ? [...shown] : [...shown, `(and ${more} more, touched earlier)`];
}

function block(tag: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : `<${tag}>\n${lines.join("\n")}\n</${tag}>`;
}
