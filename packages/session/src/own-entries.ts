import { isRecord } from "@bonsai-agent/messages";
import { CONTINUE_CUSTOM_TYPE } from "@bonsai-agent/messages/host";
import { customTypes, type Entry, type EntryDraft } from "./entry.ts";
import {
  amount,
  type FieldRule,
  type Fields,
  isText,
  mendFields,
  optional,
  text,
} from "./read/field-rules.ts";

/** The record of a moved leaf: its parent is where the session stands. */
export const LEAF_RECORD: EntryDraft = { type: "custom", customType: customTypes.leaf };

/** True for the record of a moved leaf. */
export function isLeafRecord(entry: Entry): boolean {
  return entry.type === "custom" && entry.customType === customTypes.leaf;
}

/** True for an entry that says nothing to us: only other programs read it. */
export function isCompanion(entry: Entry): boolean {
  return entry.type === "custom" && entry.customType === customTypes.companion;
}

/** The position that an entry leaves a session at when it is the last of the file. */
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
  const id =
    typeof data === "object" && data !== null && "compactionId" in data ? data.compactionId : undefined;
  return typeof id === "string" ? { compactionId: id, isUndone } : undefined;
}

/** Which compactions of a path are undone: of what was said of each, the latest counts. Takes the entries newest first. */
export class UndoneCompactions {
  readonly #isUndone = new Map<string, boolean>();

  /** @param undone ids of compactions that are to count as undone, whatever the entries say */
  constructor(undone: Iterable<string> = []) {
    for (const id of undone) this.#isUndone.set(id, true);
  }

  /** Takes the next older entry. */
  older(entry: Entry): void {
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
  [customTypes.calibration, "measured token counts"],
  [customTypes.pinned, "list of pinned texts"],
  [customTypes.record, "record of a compaction"],
  [customTypes.companion, "note for other programs"],
  [CONTINUE_CUSTOM_TYPE, "request to continue"],
  ["bonsai.lost", "damaged entry"],
  ["bonsai.session_digest", "description of the session"],
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

/** Returns the pin that an entry or a message makes or removes; undefined for any other, and where its details are damaged. */
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

const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText);
/** No model counts a text ten times as high as another does: what was learned lies far within. */
const isRatio = (value: unknown) => typeof value === "number" && value >= 0.1 && value <= 10;
/** Below 0 where the estimate of the messages is above what was reported. */
const isDifference = (value: unknown) => typeof value === "number" && Number.isFinite(value);
const rule = (isSound: FieldRule["isSound"]) => (field: string) =>
  optional({ field, isSound, safe: () => undefined });

const CALIBRATION = [
  rule(isRatio)("ratio"),
  rule(isDifference)("overheadTokens"),
  optional(amount("samples")),
];
const PIN = [text("text"), text("line")];
const COMPACTION_ID = [text("compactionId")];

/** Fields in the `data` of our custom entries, and in the `details` of our messages, by `customType`. */
const DATA = new Map<unknown, readonly FieldRule[]>([
  [customTypes.undo, COMPACTION_ID],
  [customTypes.redo, COMPACTION_ID],
  [customTypes.calibration, CALIBRATION],
  [customTypes.pinned, [rule(isTexts)("pinned")]],
]);
const DETAILS = new Map<unknown, readonly FieldRule[]>([
  [customTypes.pin, PIN],
  [customTypes.unpin, PIN],
]);

/**
 * Makes the data of our own entries safe to read, in place. The details of summaries are compaction's: it reads them with
 * its own schema.
 * @param odd gets the names of the fields that had odd values
 */
export function mendOwn(entry: Fields, odd: string[] | undefined): void {
  const { type, customType } = entry;
  if (type === "custom") mendHeld(entry, "data", DATA.get(customType), odd);
  // Only its parent counts.
  if (type === "custom" && customType === customTypes.leaf && entry.data !== undefined) {
    odd?.push("data");
    delete entry.data;
  }
  if (type === "custom_message") mendHeld(entry, "details", DETAILS.get(customType), odd);
}

function mendHeld(
  entry: Fields,
  field: "data" | "details",
  rules: readonly FieldRule[] | undefined,
  odd: string[] | undefined,
): void {
  if (rules === undefined) return;
  const value = entry[field];
  if (isRecord(value)) {
    mendFields(value, rules, { odd, prefix: `${field}.` });
    return;
  }
  odd?.push(field);
  const empty: Fields = {};
  mendFields(empty, rules, { odd: undefined });
  entry[field] = empty;
}
