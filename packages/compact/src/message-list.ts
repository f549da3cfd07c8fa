import { jsonText, messageText } from "@bonsai-agent/messages";
import { userContent } from "@bonsai-agent/messages/host";
import type { StoredMessage } from "@bonsai-agent/session";
import type { Converted, Converter } from "./formats/parts.ts";
import { type CompactState, foreignState, type Place, placeAfter, START } from "./state.ts";

interface ListItem {
  original: object;
  /** Undefined for a message that no compaction may replace. */
  converted: Converted | undefined;
}

/** A message of Bonsai, with its origin in the caller's list. */
interface ListEntry {
  message: StoredMessage;
  /** Index of the item. */
  item: number;
  part: number | undefined;
  /** False for a second message of the same item. */
  isFirst: boolean;
}

/** The model's view of a list: the summary, the entry after it, and the changed texts by entry. */
interface ListView {
  summary: string | undefined;
  firstKept: number;
  texts: ReadonlyMap<number, string>;
}

/** The caller's messages: those before the summary, the summary, and the rest, which a compaction may change. */
export class MessageList {
  /** The rest in Bonsai's messages. */
  readonly entries: readonly ListEntry[];
  /** The place of the first entry in the conversation. */
  readonly start: Place;
  readonly #converter: Converter;
  readonly #given: readonly object[];
  readonly #front: readonly object[];
  /** The messages that show the summary already. */
  readonly #shown: readonly object[];
  readonly #summary: string | undefined;
  readonly #items: readonly ListItem[];
  readonly #isInPair: readonly boolean[];

  /** @throws BonsaiError `compact_state_foreign` */
  constructor(given: readonly object[], converter: Converter, state: CompactState | undefined) {
    const converted = converter.convert(given);
    const items = given.map((original, at) => ({ original, converted: converted[at] }));
    this.#given = given;
    this.#converter = converter;
    this.#summary = state?.compaction?.summary;
    this.start = state?.kept ?? START;
    const shownAt = this.#summary === undefined ? -1 : indexOfSummary(items, this.#summary);
    const from = shownAt < 0 ? coveredItems(items, this.start) : afterSummary(given, shownAt, converter);
    const front = shownAt < 0 ? items.slice(0, from).filter(isFixed) : items.slice(0, shownAt);
    this.#front = front.map(({ original }) => original);
    this.#shown = shownAt < 0 ? [] : given.slice(shownAt, from);
    this.#items = items.slice(from);
    this.entries = this.#items.flatMap(({ converted }, item) =>
      (converted?.entries ?? []).map(({ message, part }, at) => ({ message, item, part, isFirst: at === 0 })),
    );
    this.#isInPair = placesInPairs(this.#items);
  }

  /** True if the kept part may begin with this entry; `entries.length` for keeping nothing. */
  isLegalCut(entry: number): boolean {
    const { item, isFirst } = this.entries[entry] ?? { item: this.#items.length, isFirst: true };
    return isFirst && !this.#isInPair[item];
  }

  /** True if the engine, which knows calls and results, may choose a cut that this format forbids. */
  get hasForbiddenCuts(): boolean {
    const isForbidden = ({ message }: ListEntry, at: number) =>
      message.role !== "toolResult" && !this.isLegalCut(at);
    return this.entries.some(isForbidden) || !this.isLegalCut(this.entries.length);
  }

  /** The originals of an entry, with those after it that have no entry. Empty for a second entry. */
  originalsOf(entry: number): object[] {
    const { item, isFirst } = this.entries[entry]!;
    const next = this.entries.find((each) => each.item > item)?.item ?? this.#items.length;
    return isFirst ? this.#items.slice(entry === 0 ? 0 : item, next).map(({ original }) => original) : [];
  }

  /** The messages of a view. Returns the given array if the view changes nothing. */
  show({ summary, firstKept, texts }: ListView): readonly object[] {
    const first = firstKept === 0 ? 0 : (this.entries[firstKept]?.item ?? this.#items.length);
    const fixed = this.#items.slice(0, first).filter(isFixed);
    const kept = this.#items.slice(first).map(({ original }) => original);
    for (const [at, text] of texts) {
      const place = this.entries[at]!.item - first;
      kept[place] = this.#withText(kept[place]!, at, text);
    }
    const isShown = summary === this.#summary && this.#shown.length > 0;
    const shown = isShown ? this.#shown : summaryMessages(this.#converter, summary, kept[0]);
    const messages = [...this.#front, ...fixed.map(({ original }) => original), ...shown, ...kept];
    const isSame =
      messages.length === this.#given.length && messages.every((each, at) => each === this.#given[at]);
    return isSame ? this.#given : messages;
  }

  #withText(original: object, at: number, text: string): object {
    const { message, part } = this.entries[at]!;
    if (messageText(message) === text) return original;
    return message.role === "toolResult"
      ? this.#converter.withResult(original, part!, text)
      : this.#converter.withText(original, text);
  }
}

function isFixed({ converted }: ListItem): boolean {
  return converted === undefined;
}

/** @param next the first message after the summary */
export function summaryMessages(
  converter: Converter,
  summary: string | undefined,
  next: object | undefined,
): object[] {
  return summary === undefined ? [] : converter.summary(shownText(summary), next);
}

/** The summary as the model sees it: quoted as a record. */
function shownText(summary: string): string {
  const [block] = userContent({ role: "compactionSummary", summary, tokensBefore: 0, timestamp: 0 });
  return block?.type === "text" ? block.text : "";
}

function indexOfSummary(items: readonly ListItem[], summary: string): number {
  const text = shownText(summary);
  return items.findIndex(({ converted }) => {
    const [entry] = converted?.entries ?? [];
    return entry?.message.role === "user" && messageText(entry.message) === text;
  });
}

/** The index after the messages of a shown summary. */
function afterSummary(given: readonly object[], shownAt: number, converter: Converter): number {
  const [, answer] = converter.summary("", given[shownAt + 2]);
  const isAnswered = answer !== undefined && jsonText(answer) === jsonText(given[shownAt + 1]);
  return shownAt + (isAnswered ? 2 : 1);
}

/** The number of items before a place, in a list of the whole conversation. */
function coveredItems(items: readonly ListItem[], { messages, fingerprint }: Place): number {
  let place = START;
  let at = 0;
  // Later items of an answer have no entries.
  const isInside = (item: ListItem) => place.messages < messages || item.converted?.entries.length === 0;
  while (messages > 0 && at < items.length && isInside(items[at]!)) {
    const entries = items[at]!.converted?.entries ?? [];
    place = placeAfter(
      place,
      entries.map(({ message }) => message),
    );
    at += 1;
  }
  if (place.fingerprint === fingerprint) return at;
  throw foreignState("Its first messages are missing or different.");
}

/** `places[i]`: a cut before item `i` separates a pair. The last place is after all items. */
function placesInPairs(items: readonly ListItem[]): boolean[] {
  const change = new Int32Array(items.length + 2);
  const begins = new Map<string, number>();
  const waiting = new Set<string>();
  const addPair = (from: number, to: number) => {
    change[from + 1]! += 1;
    change[to + 1]! -= 1;
  };
  items.forEach(({ converted }, at) => {
    if (converted === undefined) return;
    const { opens, closes, entries } = converted;
    // A call that the user's next message left without a result never gets one.
    if (closes.length === 0 && entries[0]?.message.role === "user") waiting.clear();
    for (const pair of opens) {
      begins.set(pair, at);
      waiting.add(pair);
    }
    for (const pair of closes) {
      if (begins.has(pair)) addPair(begins.get(pair)!, at);
      waiting.delete(pair);
    }
  });
  for (const pair of waiting) addPair(begins.get(pair)!, items.length);
  let depth = 0;
  return Array.from(change.slice(0, items.length + 1), (each) => {
    depth += each;
    return depth > 0;
  });
}
