import { isRecord, jsonText, withoutTerminalControls } from "@bonsai-agent/messages";
import { longestFirst, redactSecrets } from "@bonsai-agent/transcripts";
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
  readonly #secrets: readonly string[];

  constructor(isOn: boolean, secrets: readonly string[]) {
    this.#isOn = isOn;
    this.#secrets = longestFirst(secrets);
  }

  readonly text = (text: string): string => {
    if (!this.#isOn) return text;
    const bare = withoutTerminalControls(text);
    const found = redactSecrets(bare, this.#secrets);
    this.count += found.count;
    // Colours that stand within a key go with it.
    return found.count > 0 ? found.text : text;
  };

  /** The same with every text in a value of plain data. */
  value<Value>(value: Value): Value {
    return this.#isOn ? (this.#within(value) as Value) : value;
  }

  /** The same, and still the entry that others name. */
  entry<Entry extends object>(entry: Entry): Entry {
    if (!this.#isOn) return entry;
    const fields = Object.entries(entry);
    return Object.fromEntries(
      fields.map(([key, each]) => [key, PLACES.has(key) ? each : this.#field(key, each)]),
    ) as Entry;
  }

  #within(value: unknown, depth = 0): unknown {
    if (typeof value === "string") return this.text(value);
    if (typeof value !== "object" || value === null) return value;
    // What is nested deeper than the stack reaches is shown as text, and is text from here on.
    if (depth > DEEPEST) return this.text(jsonText(value));
    if (Array.isArray(value)) return value.map((each) => this.#within(each, depth + 1));
    const isShown = isRecord(value) && isPicture(value);
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) =>
        isShown && key === "data" ? [key, each] : [this.text(key), this.#field(key, each, depth + 1)],
      ),
    );
  }

  /** What is a key by its name alone is one here too, where the name stands apart from it. */
  #field(name: string, value: unknown, depth = 0): unknown {
    const within = this.#within(value, depth);
    if (within !== value || typeof value !== "string" || !NAMES.test(name)) return within;
    const { count } = redactSecrets(`${name}="${value}"`);
    this.count += count;
    return count === 0 ? value : "[redacted: secret]";
  }
}

const DEEPEST = 200;

/** What the name of a secret holds; whether it is one is looked at with its value. */
const NAMES = /key|secret|pass|token/i;
