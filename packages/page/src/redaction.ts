import type { SecretFilter } from "@bonsai-agent/messages";

/** Fields of an entry by which other entries name it. */
const PLACES = new Set(["id", "parentId", "targetId", "fromId", "firstKeptEntryId"]);

/**
 * Redacts the texts of a page. Entries go through it whole, before anything is cut out of them, joined or written in
 * another way.
 */
export class Redaction {
  /** Number of secrets redacted so far. */
  count = 0;
  readonly #filter: SecretFilter;

  /** @param filter knows the stored keys, and learns others */
  constructor(filter: SecretFilter) {
    this.#filter = filter;
  }

  readonly text = (text: string): string => this.value(text);

  /** The same with every text in a value of plain data. */
  value<Value>(value: Value, name?: string): Value {
    const before = this.#filter.count;
    const redacted = this.#filter.value(value, name);
    this.count += this.#filter.count - before;
    return redacted;
  }

  /** The same, and other entries still find it by its id. */
  entry<Entry extends object>(entry: Entry): Entry {
    const fields = Object.entries(entry);
    return Object.fromEntries(
      fields.map(([key, each]) => [key, PLACES.has(key) ? each : this.value(each, key)]),
    ) as Entry;
  }
}
