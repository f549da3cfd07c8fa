import { messageText } from "@bonsai-agent/messages";
import { userContent } from "@bonsai-agent/messages/host";
import type { StoredMessage } from "@bonsai-agent/session";
import { type CompactState, foreignState, type Place, placeAfterMessage, START } from "./state.ts";
import { type Format, field, type Unit, type UnitEntry, unitsOf } from "./units.ts";

/** The model's view of a list: the summary, the entry after it, and the changed texts by entry. */
interface ListView {
  summary: string | undefined;
  firstKept: number;
  texts: ReadonlyMap<number, string>;
}

/** The caller's messages: the head up to the summary, or its originals, and the rest, which a compaction may change. */
export class MessageList {
  /** The rest in Bonsai's messages, with the index of the unit of each. */
  readonly entries: ReadonlyArray<UnitEntry & { readonly unit: number }>;
  /** The place of the first entry in the conversation. */
  readonly start: Place;
  readonly #format: Format;
  readonly #given: readonly object[];
  /** The messages of the list up to its summary, if it shows one. */
  readonly #head: readonly object[] | undefined;
  readonly #summary: string | undefined;
  /** Earlier messages that no compaction may replace. */
  readonly #fixed: readonly object[];
  readonly #units: readonly Unit[];

  /** @throws BonsaiError `compact_state_foreign` */
  constructor(given: readonly object[], format: Format, state: CompactState | undefined) {
    const units = unitsOf(given, format);
    this.#given = given;
    this.#format = format;
    this.#summary = state?.compaction?.summary;
    this.start = state?.kept ?? START;
    const shown = this.#summary === undefined ? 0 : unitsUntilSummary(units, this.#summary, format);
    this.#head = shown > 0 ? originalsOf(units.slice(0, shown)) : undefined;
    const before = this.#head ?? given.slice(0, coveredMessages(given, this.start, format));
    this.#fixed = fixedOf(unitsOf(before, format));
    // An answer after the covered messages is never joined with them.
    this.#units = unitsOf(given.slice(before.length), format);
    this.entries = this.#units.flatMap(({ entries = [] }, unit) =>
      entries.map((each) => ({ ...each, unit })),
    );
  }

  /** The place of an entry in the conversation. */
  placeOf(entry: number): Place {
    const unit = this.entries[entry]?.unit ?? this.#units.length;
    const before = originalsOf(this.#units.slice(0, unit));
    return before.reduce<Place>((place, message) => placeAfter(place, message, this.#format), this.start);
  }

  /** The messages of a view. Returns the given array if the view changes nothing. */
  show({ summary, firstKept, texts }: ListView): readonly object[] {
    const first = firstKept === 0 ? 0 : (this.entries[firstKept]?.unit ?? this.#units.length);
    const units = [...this.#units];
    for (const [at, text] of texts) {
      const { unit, ...entry } = this.entries[at]!;
      const [original, ...others] = units[unit]!.originals;
      units[unit] = { ...units[unit]!, originals: [this.#withText(original!, entry, text), ...others] };
    }
    const kept = originalsOf(units.slice(first));
    const fixed = [...this.#fixed, ...fixedOf(units.slice(0, first))];
    const isShown = this.#head !== undefined && summary === this.#summary;
    const messages = [...(isShown ? this.#head : this.#newHead(summary, fixed, kept[0])), ...kept];
    const isSame =
      messages.length === this.#given.length && messages.every((each, at) => each === this.#given[at]);
    return isSame ? this.#given : messages;
  }

  #withText(original: object, { message, part }: UnitEntry, text: string): object {
    if (messageText(message) === text) return original;
    const { withText, withResult, content = String } = this.#format;
    if (part !== undefined) return withResult(original, part, text);
    if (message.role !== "user" || field(original, "role") !== "user") return original;
    return withText?.(original, text) ?? { ...original, content: content(text) };
  }

  /** @param next the first message after the summary */
  #newHead(
    summary: string | undefined,
    fixed: readonly object[],
    next: object | undefined,
  ): readonly object[] {
    if (summary === undefined) return fixed;
    const { acknowledgement, content = String } = this.#format;
    const record = { role: "user", content: content(recordOf(summary)) };
    if (acknowledgement === undefined) return [...fixed, record];
    const isUser = field(next, "role") === "user";
    return [record, ...fixed, ...(isUser ? [{ role: "assistant", content: acknowledgement }] : [])];
  }
}

function originalsOf(units: readonly Unit[]): object[] {
  return units.flatMap(({ originals }) => originals);
}

function fixedOf(units: readonly Unit[]): object[] {
  return originalsOf(units.filter(({ entries }) => entries === undefined));
}

/** The summary as the model sees it: quoted as a record. */
function recordOf(summary: string): string {
  const [block] = userContent({ role: "compactionSummary", summary, tokensBefore: 0, timestamp: 0 });
  return block?.type === "text" ? block.text : "";
}

/** The number of units up to a summary and its acknowledgement; 0 if the list does not show it. */
function unitsUntilSummary(units: readonly Unit[], summary: string, { acknowledgement }: Format): number {
  const record = recordOf(summary);
  const isText = (role: StoredMessage["role"], text: string) => (unit: Unit | undefined) => {
    const message = unit?.entries?.[0]?.message;
    return message?.role === role && messageText(message) === text;
  };
  let end = units.findIndex(isText("user", record)) + 1;
  if (end === 0 || acknowledgement === undefined) return end;
  while (units[end] !== undefined && units[end]!.entries === undefined) end += 1;
  return isText("assistant", acknowledgement)(units[end]) ? end + 1 : end;
}

/** The number of messages before a place, in a list of the whole conversation. */
function coveredMessages(given: readonly object[], { messages, fingerprint }: Place, format: Format): number {
  let place = START;
  let at = 0;
  while (place.messages < messages && at < given.length) {
    place = placeAfter(place, given[at]!, format);
    at += 1;
  }
  if (place.fingerprint === fingerprint) return at;
  throw foreignState("Its first messages are missing or different.");
}

/** The place after one more message. Reads it alone, because later messages can join its unit. */
function placeAfter(place: Place, original: object, format: Format): Place {
  const [unit] = unitsOf([original], format);
  return (unit?.entries ?? []).reduce((before, { message }) => placeAfterMessage(before, message), place);
}
