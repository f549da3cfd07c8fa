import {
  CALIBRATION_CUSTOM_TYPE,
  type Entry,
  LEAF_CUSTOM_TYPE,
  PIN_CUSTOM_TYPE,
  PINNED_CUSTOM_TYPE,
  UNDO_CUSTOM_TYPE,
  UNPIN_CUSTOM_TYPE,
} from "./entry.ts";
import { chainedId, unnamedId } from "./entry-index.ts";
import {
  amount,
  type FieldRule,
  type Fields,
  flag,
  isContent,
  isFields,
  isText,
  mendFields,
  mendMessage,
  mendUsage,
  optional,
  soundContent,
  text,
} from "./sound-message.ts";

/** What a field of ours holds: its fields, and those of what stands in it. */
interface Shape {
  readonly rules: readonly FieldRule[];
  /** Objects that may be absent. */
  readonly held?: Readonly<Record<string, Shape>>;
  /** True where every other field is a list of texts. */
  readonly isTexts?: boolean;
}

const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText);
/** No model counts a text ten times as high as another does: what was learned lies far within. */
const isRatio = (value: unknown) => typeof value === "number" && value >= 0.1 && value <= 10;
/** Below 0 where the estimate of the messages is above what was reported. */
const isDifference = (value: unknown) => typeof value === "number" && Number.isFinite(value);
const isSwitch = (value: unknown) => typeof value === "boolean";
const rule = (isSound: FieldRule["isSound"]) => (field: string) =>
  optional({ field, isSound, safe: () => undefined });
const someTexts = (...fields: string[]) => fields.map(rule(isTexts));
const someText = (...fields: string[]) => fields.map((field) => optional(text(field)));
const someAmounts = (...fields: string[]) => fields.map((field) => optional(amount(field)));

const RANGE: Shape = { rules: [...someAmounts("count"), ...someText("first", "last")] };
const CALIBRATION: Shape = {
  rules: [rule(isRatio)("ratio"), rule(isDifference)("overheadTokens"), ...someAmounts("samples")],
};
const MANIFEST: Shape = {
  rules: [
    ...someText("reason", "rung", "previousCompactionId"),
    ...someAmounts("tokensBefore", "tokensAfter", "requests", "costUsd"),
    ...someTexts("masked"),
    rule(isSwitch)("splitTurn"),
  ],
  held: {
    summarised: RANGE,
    turnPrefix: RANGE,
    kept: RANGE,
    lost: { rules: someTexts("media", "truncated") },
    calibration: CALIBRATION,
    settings: {
      rules: [
        ...someText("preset", "estimator"),
        ...someAmounts("keepTokens", "reserveTokens", "windowTokens"),
      ],
    },
    state: { rules: someText("provider", "modelId", "thinkingLevel") },
  },
};

/** The details of a summary that was made here, or by pi. */
const SUMMARY: Shape = {
  rules: [...someTexts("readFiles", "modifiedFiles", "recentFiles", "pinned"), ...someText("prose")],
  held: {
    latestRequest: { rules: someText("entryId", "text") },
    carryOver: { rules: [], isTexts: true },
    manifest: MANIFEST,
  },
};
const PIN: Shape = { rules: [text("text"), text("line")] };

/** By `customType`: what the entries of ours hold in `data`, and the messages in `details`. */
const DATA = new Map<unknown, Shape>([
  [UNDO_CUSTOM_TYPE, { rules: [text("compactionId")] }],
  [CALIBRATION_CUSTOM_TYPE, CALIBRATION],
  [PINNED_CUSTOM_TYPE, { rules: someTexts("pinned") }],
]);
const DETAILS = new Map<unknown, Shape>([
  [PIN_CUSTOM_TYPE, PIN],
  [UNPIN_CUSTOM_TYPE, PIN],
]);

/**
 * Makes safe to read what entries of ours say in a field that others may fill as they like, in place.
 * @param odd gets the names of the fields that held something else than they should.
 */
function mendOwn(entry: Fields, odd: string[] | undefined): void {
  const { type, customType } = entry;
  if (type === "custom") mendHeld(entry, { field: "data", shape: DATA.get(customType), odd, prefix: "" });
  // It says where its parent is, and nothing else.
  if (type === "custom" && customType === LEAF_CUSTOM_TYPE && entry.data !== undefined) {
    odd?.push("data");
    delete entry.data;
  }
  if (type === "custom_message")
    mendHeld(entry, { field: "details", shape: DETAILS.get(customType), odd, prefix: "" });
  if ((type === "compaction" || type === "branch_summary") && isOwnSummary(entry))
    mendHeld(entry, { field: "details", shape: SUMMARY, odd, prefix: "" });
}

/** Those of an extension are its own, but where it had the summary made here. */
function isOwnSummary({ details, fromHook }: Fields): boolean {
  if (details === undefined) return false;
  return (
    fromHook !== true || (isFields(details) && isText(details.prose) && Array.isArray(details.recentFiles))
  );
}

interface Held {
  field: string;
  shape: Shape | undefined;
  odd: string[] | undefined;
  prefix: string;
}

function mendHeld(record: Fields, { field, shape, odd, prefix }: Held): void {
  if (shape === undefined) return;
  const value = record[field];
  if (isFields(value)) {
    mendShape(value, shape, { odd, prefix: `${prefix}${field}.` });
    return;
  }
  odd?.push(`${prefix}${field}`);
  const empty: Fields = {};
  mendFields(empty, shape.rules, { odd: undefined });
  record[field] = empty;
}

function mendShape(record: Fields, shape: Shape, note: { odd: string[] | undefined; prefix: string }): void {
  const rules = shape.isTexts === true ? someTexts(...Object.keys(record)) : shape.rules;
  mendFields(record, rules, note);
  for (const [field, inner] of Object.entries(shape.held ?? {}))
    if (record[field] !== undefined) mendHeld(record, { field, shape: inner, ...note });
}

/** `customType` of an entry that stands where one stood that lost what it was. */
const LOST_CUSTOM_TYPE = "bonsai.lost";
const LATEST_TIME_MS = 8.64e15;

/** What every entry has, and the header. */
export const TIMESTAMP: FieldRule = { field: "timestamp", isSound: isTime, safe: timeOf };
const PLACE: readonly FieldRule[] = [TIMESTAMP];

/** By type: fields for which there is a value that does no harm. */
const FIELDS = new Map<unknown, readonly FieldRule[]>([
  ["compaction", [text("firstKeptEntryId"), amount("tokensBefore"), flag("fromHook")]],
  ["branch_summary", [text("fromId"), flag("fromHook")]],
  [
    "custom_message",
    [
      text("customType", "unknown"),
      { field: "content", isSound: isContent, safe: soundContent },
      flag("display"),
    ],
  ],
  ["custom", [text("customType", "unknown")]],
  ["label", [optional(text("label"))]],
  ["session_info", [optional(text("name"))]],
  ["usage", [text("kind", "unknown"), text("provider", "unknown"), text("model", "unknown")]],
]);

const essential = (field: string, isSound: (value: unknown) => boolean = isText): FieldRule => ({
  field,
  isSound,
  safe: () => undefined,
});

/** By type: fields without which an entry says nothing. */
const ESSENTIAL = new Map<unknown, readonly FieldRule[]>([
  ["message", [essential("message", isFields)]],
  ["compaction", [essential("summary")]],
  ["branch_summary", [essential("summary")]],
  ["context_edit", [essential("targetId"), essential("replacement", isReplacement)]],
  ["label", [essential("targetId")]],
  ["model_change", [essential("provider"), essential("modelId")]],
  ["thinking_level_change", [essential("thinkingLevel")]],
]);

/**
 * Makes an entry of a known type safe to read, in place: an odd field gets a value that does no harm, and an
 * entry without what it is about becomes a `custom` one that holds what is left. Types that nobody knows stay
 * as they are. The one place where this is decided; all who read an entry rely on it.
 * @param odd gets the names of the fields that held something else than they should.
 */
function soundEntry(entry: Fields, odd?: string[]): Fields {
  const isKnown = ESSENTIAL.has(entry.type) || FIELDS.has(entry.type);
  mendFields(entry, PLACE, { odd: isKnown ? odd : undefined });
  const missing = ESSENTIAL.get(entry.type)?.find(({ field, isSound }) => !isSound(entry[field]));
  if (missing !== undefined) {
    odd?.push(missing.field);
    return lostEntry(entry);
  }
  const rules = FIELDS.get(entry.type);
  if (rules !== undefined) mendFields(entry, rules, { odd });
  if (entry.type === "message") mendMessage(entry.message as Fields, odd);
  else if (rules !== undefined) mendUsage(entry, { odd, prefix: "" });
  mendOwn(entry, odd);
  return entry;
}

/** True for a field without which an entry of this type says nothing. */
export function isEssential(type: string, field: string): boolean {
  return ESSENTIAL.get(type)?.some((rule) => rule.field === field) ?? false;
}

/** Keeps what is left of an entry, and its place in the tree. */
function lostEntry(entry: Fields): Fields {
  const { id, parentId, timestamp, ...data } = entry;
  return { type: "custom", customType: LOST_CUSTOM_TYPE, id, parentId, timestamp, data };
}

function isReplacement(value: unknown): boolean {
  return value === null || (isFields(value) && isContent(value.content));
}

/** As ISO 8601 writes it, or anything else that is read as a time. */
function isTime(value: unknown): boolean {
  return isText(value) && !Number.isNaN(Date.parse(value));
}

function timeOf(value: unknown): string {
  const ms = typeof value === "number" && Math.abs(value) <= LATEST_TIME_MS ? value : 0;
  return new Date(ms).toISOString();
}

/**
 * Makes an entry of a line's parsed value, as of today's version and safe to read. The file stays as it is:
 * older versions are migrated, and odd fields mended, in memory only.
 * @param place the id and the parent that the entry has in the tree, whatever its line says.
 * @param odd gets the names of the fields that held something else than they should.
 * @returns undefined when the value is no object.
 */
export function entryFrom(
  value: unknown,
  place: { id: string; parentId: string | null; version: number },
  odd?: string[],
): Entry | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const entry = value as Record<string, unknown>;
  // Whatever the header says: programs wrote old entries under new headers, and new ones under old.
  renameHookMessage(entry);
  nameFirstKept(entry, place.version);
  return soundEntry(placed(entry, place), odd) as unknown as Entry;
}

function placed(
  entry: Record<string, unknown>,
  place: { id: string; parentId: string | null },
): Record<string, unknown> {
  if (entry.id === place.id && entry.parentId === place.parentId) return entry;
  const { type, id, parentId, ...fields } = entry;
  return { type, id: place.id, parentId: place.parentId, ...fields };
}

/** Up to version 2, an extension's message had a role of another name. */
function renameHookMessage(entry: Record<string, unknown>): void {
  const message = entry.message as { role?: unknown } | null | undefined;
  if (typeof message === "object" && message?.role === "hookMessage") message.role = "custom";
}

/** In version 1, a compaction counted lines, the header being 0. Under a newer header, the entries are named after those. */
function nameFirstKept(entry: Record<string, unknown>, version: number): void {
  const index = entry.firstKeptEntryIndex;
  if (entry.type !== "compaction" || typeof index !== "number" || isText(entry.firstKeptEntryId)) return;
  entry.firstKeptEntryId = version === 1 ? chainedId(index) : unnamedId(index + 1);
  delete entry.firstKeptEntryIndex;
}

/** The line that stores an entry. Values that are nested deeper than JSON can be written are left out. */
export function entryLine(entry: Entry): string {
  try {
    return JSON.stringify(entry);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const { type, id, parentId, timestamp } = entry;
    return JSON.stringify(lostEntry({ type, id, parentId, timestamp }));
  }
}
