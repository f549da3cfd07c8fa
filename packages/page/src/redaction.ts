import { jsonText, withoutTerminalControls } from "@bonsai-agent/messages";
import type { SecretFilter } from "@bonsai-agent/transcripts";
import { isPicture } from "./page-data.ts";

/** Of an entry, what others name it by. */
const PLACES = new Set(["id", "parentId", "targetId", "fromId", "firstKeptEntryId"]);

/**
 * Takes what looks like a key, and keys that are known, out of what a page says. Entries go through it whole, before
 * anything is cut out of them, put together or written down in another way.
 */
export class Redaction {
  /** How many were taken out so far. */
  count = 0;
  readonly #isOn: boolean;
  readonly #filter: SecretFilter;

  /** @param filter knows the stored keys, and learns others */
  constructor(isOn: boolean, filter: SecretFilter) {
    this.#isOn = isOn;
    this.#filter = filter;
  }

  readonly text = (text: string): string => this.#said("", text);

  /** The same with every text in a value of plain data. */
  value<Value>(value: Value): Value {
    return this.#isOn ? (this.#field("", value) as Value) : value;
  }

  /** The same, and still the entry that others name. */
  entry<Entry extends object>(entry: Entry): Entry {
    if (!this.#isOn) return entry;
    const fields = Object.entries(entry);
    return Object.fromEntries(
      fields.map(([key, each]) => [key, PLACES.has(key) ? each : this.#field(key, each)]),
    ) as Entry;
  }

  /** A text, without what its own form or its name makes a key. Colours that stand within a key go with it. */
  #said(name: string, text: string): string {
    if (!this.#isOn) return text;
    const found = this.#filter.field(name, withoutTerminalControls(text));
    this.count += found.count;
    return found.count > 0 ? found.text : text;
  }

  /** @param name of the field that holds it, or holds what it stands in */
  #field(name: string, value: unknown, depth = 0): unknown {
    if (typeof value === "string") return this.#said(name, value);
    if (typeof value !== "object" || value === null) return value;
    // What is nested deeper than the stack reaches is shown as text, and is text from here on.
    if (depth > DEEPEST) return this.text(jsonText(value));
    if (Array.isArray(value)) return value.map((each) => this.#field(name, each, depth + 1));
    return this.#fields(name, value as Record<string, unknown>, depth + 1);
  }

  #fields(name: string, value: Record<string, unknown>, depth: number): Record<string, unknown> {
    const isShown = isPicture(value);
    // Lists of settings name what they hold beside it.
    const beside = [value.name, value.key].find((each) => typeof each === "string") ?? name;
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => {
        if (isShown && key === "data") return [key, each];
        const isNamed = key === "value" || key === "default" || /^\d+$/.test(key);
        return [this.text(key), this.#field(isNamed ? String(beside) : key, each, depth)];
      }),
    );
  }
}

const DEEPEST = 200;
