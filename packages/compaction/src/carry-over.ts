import { contentText } from "@bonsai-agent/messages";
import { clip } from "./clip.ts";
import { originalMessage, type ViewItem } from "./context-view.ts";
import { type ExtensionCarryOver, renderExtensionCarryOver } from "./extension-carry-over.ts";
import { block, type FileLists, filesOf, renderFiles } from "./file-lists.ts";
import { ownDetails } from "./own-details.ts";
import { pinnedLine } from "./pins.ts";
import type { CompactionPlan } from "./plan.ts";
import { withoutReminders } from "./reminders.ts";

/** What survives every compaction as data, outside the prose. */
export interface CarryOver extends FileLists {
  /** Texts that the user wants kept for good. */
  pinned: readonly string[];
  /** The user's latest request, where the kept part does not hold it. */
  latestRequest: LatestRequest | undefined;
  /** What extensions asked for at this compaction; the next one asks anew. */
  extensions?: ExtensionCarryOver | undefined;
}

export interface LatestRequest {
  entryId: string;
  /** Word for word, up to the limit. */
  text: string;
}

export interface CarryOverOptions {
  plan: CompactionPlan;
  /** What is pinned on the path. */
  pinned: readonly string[];
  /** The longest request that is carried word for word; of a longer one, head and tail. */
  latestRequestChars: number;
}

/** What a compaction by this plan carries over: from the span, and from earlier summaries of ours. */
export function carryOver({ plan, pinned, latestRequestChars }: CarryOverOptions): CarryOver {
  const span = [...plan.history, ...plan.turnPrefix];
  const earlier = [plan.previous, ...span.map((item) => item.entry)];
  return {
    pinned,
    ...filesOf(span, earlier),
    latestRequest: latestRequest(plan, latestRequestChars),
  };
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

/** A latest request as details store it; undefined for anything else. */
export function earlierRequest(value: unknown): LatestRequest | undefined {
  const { entryId, text } = (value ?? {}) as Partial<LatestRequest>;
  return typeof entryId === "string" && typeof text === "string" ? { entryId, text } : undefined;
}

/** The pinned texts as they stand in a summary. */
export function renderPinned(pinned: readonly string[]): string {
  return block("pinned", pinned.map(pinnedLine));
}

/** The carry-over as it stands in the summary; empty where there is none. */
export function renderCarryOver(carried: CarryOver): string {
  return carriedBlocks(carried).join("\n\n");
}

/** Its blocks, those of files and of extensions as one each. */
export function carriedBlocks(carried: CarryOver): string[] {
  const { latestRequest: request } = carried;
  return [
    renderPinned(carried.pinned),
    renderFiles(carried),
    block("latest-request", request === undefined ? [] : [request.text]),
    renderExtensionCarryOver(carried.extensions),
  ].filter((text) => text !== "");
}
