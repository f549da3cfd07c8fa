import {
  amount,
  type FieldRule,
  type Fields,
  flag,
  isFields,
  isText,
  mendFields,
  optional,
  text,
} from "./field-rule.ts";
import { isContent, mendMessage, soundContent } from "./sound-message.ts";
import { mendOwn } from "./sound-own.ts";
import { mendUsage } from "./sound-usage.ts";

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
export function soundEntry(entry: Fields, odd?: string[]): Fields {
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
export function lostEntry(entry: Fields): Fields {
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
