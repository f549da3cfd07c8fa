import { isRecord } from "@bonsai-agent/messages";
import { MESSAGE_TYPES } from "@bonsai-agent/messages/host";
import { customTypes, type Entry, type EntryDraft, type FormatFields } from "./entry.ts";

/** The record of a moved leaf: its parent is the session's position. */
export const LEAF_RECORD: EntryDraft = { type: "custom", customType: customTypes.leaf };

/** True for the record of a moved leaf. */
export function isLeafRecord(entry: Entry): boolean {
  return entry.type === "custom" && entry.customType === customTypes.leaf;
}

/** True for an entry that only other programs read. */
export function isCompanion(entry: Entry): boolean {
  return entry.type === "custom" && entry.customType === customTypes.companion;
}

/** The position of a session whose file ends with this entry. */
export function leafAfter(entry: Entry): string | null {
  return isLeafRecord(entry) ? entry.parentId : entry.id;
}

/** The undo or redo of a compaction, as an entry records it. */
export interface CompactionChange {
  compactionId: string;
  isUndone: boolean;
}

/** Undefined for an entry that neither undoes nor redoes a compaction. */
export function compactionChange(entry: Entry): CompactionChange | undefined {
  if (entry.type !== "custom") return undefined;
  const { customType, data } = entry;
  const isUndone = customType === customTypes.undo;
  if (!isUndone && customType !== customTypes.redo) return undefined;
  const compactionId = isRecord(data) ? data.compactionId : undefined;
  return typeof compactionId === "string" ? { compactionId, isUndone } : undefined;
}

/** The compaction whose provider's summary was refused, as an entry records it. */
export function refusedSummaryOf(entry: Entry): string | undefined {
  if (entry.type !== "custom" || entry.customType !== customTypes.refusedSummary) return undefined;
  const compactionId = isRecord(entry.data) ? entry.data.compactionId : undefined;
  return typeof compactionId === "string" ? compactionId : undefined;
}

/** Finds the undone compactions of a path, from its leaf towards the root. The latest undo or redo of each counts. */
export class UndoneCompactions {
  readonly #isUndone = new Map<string, boolean>();

  /** @param undone ids of compactions that count as undone, whatever the entries say */
  constructor(undone: Iterable<string> = []) {
    for (const id of undone) this.#isUndone.set(id, true);
  }

  /** Adds the next older entry. */
  addOlder(entry: Entry): void {
    const change = compactionChange(entry);
    if (change !== undefined && !this.#isUndone.has(change.compactionId))
      this.#isUndone.set(change.compactionId, change.isUndone);
  }

  has(compactionId: string): boolean {
    return this.#isUndone.get(compactionId) === true;
  }
}

/** Plain words for the entries that Bonsai itself writes; a screen never shows their types. */
const OWN_ENTRY_WORDS: ReadonlyMap<unknown, string> = new Map([
  [customTypes.leaf, "moved here"],
  [customTypes.undo, "undo of a compaction"],
  [customTypes.redo, "redo of a compaction"],
  [customTypes.beside, "record of a compaction"],
  [customTypes.refusedSummary, "refusal of a provider's summary"],
  [customTypes.companion, "note for other programs"],
  [MESSAGE_TYPES.continue, "request to continue"],
  [MESSAGE_TYPES.runningWork, "note on background processes"],
  [MESSAGE_TYPES.instructions, "note on changed instructions"],
  [MESSAGE_TYPES.budget, "note on the size of the context"],
  ["bonsai.lost", "damaged entry"],
  [customTypes.sessionBlurb, "description of the session"],
  ["bonsai.import", "import of a transcript"],
  ["bonsai.import.queued", "queued message, never delivered"],
  ["bonsai.import.result", "tool result without its call"],
  ["bonsai.import.edit", "moved tool result"],
  ["bonsai.unreadable", "unreadable item of the transcript"],
]);

/** A plain phrase for an entry that Bonsai itself wrote; undefined for any other. */
export function ownEntryWords(entry: Entry): string | undefined {
  if (entry.type !== "custom" && entry.type !== "custom_message") return undefined;
  const change = compactionChange(entry);
  if (change !== undefined)
    return `${change.isUndone ? "undo" : "redo"} of compaction ${change.compactionId}`;
  return pinChange(entry) === undefined ? ownTypeWords(entry.customType) : undefined;
}

/** The same for the `customType` of an entry. */
export function ownTypeWords(customType: unknown): string | undefined {
  const isOwn = typeof customType === "string" && customType.startsWith("bonsai.");
  return OWN_ENTRY_WORDS.get(customType) ?? (isOwn ? "note of Bonsai" : undefined);
}

/** A pin or the removal of a pin. */
export interface PinChange {
  /** Word for word. */
  text: string;
  /** The text as it stands in a summary that carries it, on lines of its own. */
  line: string;
  isPinned: boolean;
}

/** Returns the pin that an entry or a message makes or removes; undefined for any other, and for damaged details. */
export function pinChange(
  source: Entry | { type?: undefined; customType?: unknown; details?: unknown },
): PinChange | undefined {
  if (source.type !== undefined && source.type !== "custom_message") return undefined;
  const { customType, details } = source;
  if (customType !== customTypes.pin && customType !== customTypes.unpin) return undefined;
  const { text, line } = (details ?? {}) as Partial<Record<string, unknown>>;
  if (typeof text !== "string" || typeof line !== "string" || line.trim() === "") return undefined;
  return { text, line, isPinned: customType === customTypes.pin };
}

/** A file that was edited or written, with the lines that were added and removed in all. */
export interface ChangedLines {
  path: string;
  added: number;
  removed: number;
}

/** The topic of a session and its changed files, as of the latest change. */
export interface SessionBlurb {
  /** At most 400 characters; empty if there is none. */
  summary: string;
  /** Changed files, including those that are not listed. */
  fileCount: number;
  /** Lines, over all files. */
  added: number;
  removed: number;
  /** The files that were changed last, newest first. */
  files: ChangedLines[];
}

/** A stored blurb with its valid parts; undefined if it has no counts. */
export function readSessionBlurb(data: unknown): SessionBlurb | undefined {
  if (!isRecord(data)) return undefined;
  const { summary, fileCount, added, removed, files } = data;
  if (!isCount(fileCount) || !isCount(added) || !isCount(removed)) return undefined;
  return {
    summary: typeof summary === "string" ? summary : "",
    fileCount,
    added,
    removed,
    files: Array.isArray(files) ? files.filter(isChangedLines) : [],
  };
}

/** True for valid stored changes of a file. */
export function isChangedLines(value: unknown): value is ChangedLines {
  return isRecord(value) && typeof value.path === "string" && isCount(value.added) && isCount(value.removed);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Custom types of our entries whose line can have a type of the format, for other programs. */
const HOLDING: ReadonlySet<unknown> = new Set([customTypes.companion, customTypes.undo, customTypes.redo]);
const HELD: ReadonlySet<unknown> = new Set<FormatFields["type"]>(["compaction", "context_edit"]);

/** Converts an entry to the object of its line. The fields for other programs are at the top level. */
export function asStored(entry: Entry): Entry {
  if (entry.type !== "custom" || entry.inFormat === undefined) return entry;
  const { id, parentId, timestamp, customType, data, inFormat } = entry;
  const { type, ...fields } = inFormat;
  return { type, id, parentId, timestamp, customType, data, ...fields } as unknown as Entry;
}

/** Converts the object of a line to an entry: a line that contains an entry of ours becomes that entry. */
export function fromStored(line: Record<string, unknown>): Record<string, unknown> {
  if (!HELD.has(line.type) || !HOLDING.has(line.customType)) return line;
  const { type, id, parentId, timestamp, customType, data, ...fields } = line;
  const own = { type: "custom", id, parentId, timestamp, customType, inFormat: { type, ...fields } };
  return data === undefined ? own : { ...own, data };
}
