/** Strings of this many characters are left out of a structured result if the text has them. */
const MIN_OMITTED_CHARS = 200;
/** A shorter string in a wrapper must be a whole line of the text: one word in a sentence proves nothing. */
const MIN_QUOTED_CHARS = 20;
/** Upper bounds for one comparison. Larger results are cut for the model anyway. Measured: at most 0.3 s. */
const MAX_SEARCHED_CHARS = 200_000_000;
const MAX_READ_CHARS = 1_000_000;
const MAX_VALUES = 20_000;
const OMITTED = "(the text above)";

/**
 * Returns the structured result if it contains something that `content` does not, else undefined.
 *
 * Many servers send a result twice: as text, and as JSON around the same text. A value is known if the content has the
 * value and its key. The key of an object with one field is not needed: it only wraps the value. The returned result has
 * a short mark in place of each long string that the text has.
 */
export function unseenResult(structured: unknown, content: readonly unknown[]): unknown {
  if (structured === undefined || structured === null) return undefined;
  try {
    const values = valuesOf(structured);
    const seen = new SeenContent(content);
    if (values.length > MAX_VALUES || values.length * seen.text.length > MAX_SEARCHED_CHARS)
      return structured;
    if (values.every((value) => seen.has(value))) return undefined;
    return JSON.parse(JSON.stringify(structured), (_key, value) =>
      typeof value === "string" && value.length >= MIN_OMITTED_CHARS && seen.text.includes(value)
        ? OMITTED
        : value,
    );
  } catch {
    // Nested too deep, or too long to compare.
    return structured;
  }
}

/** A string, number, boolean, null or empty list or object. The key is undefined in a wrapper. */
interface Value {
  key: string | undefined;
  text: string;
}

function valuesOf(value: unknown, key?: string): Value[] {
  if (value === undefined) return [];
  if (typeof value !== "object" || value === null) return [{ key, text: String(value) }];
  const fields = Object.entries(value);
  if (fields.length === 0) return [{ key, text: Array.isArray(value) ? "[]" : "{}" }];
  const isWrapper = Array.isArray(value) || fields.length === 1;
  return fields.flatMap(([name, inner]) => valuesOf(inner, isWrapper ? key : name));
}

/** Everything that the model sees of the parts of a result. A text that is JSON is also known by its values. */
class SeenContent {
  readonly text: string;
  readonly #values: Value[];
  #index: { whole: ReadonlySet<string>; words: ReadonlySet<string> } | undefined;

  constructor(parts: readonly unknown[]) {
    this.#values = parts.flatMap((part) => valuesOf(shownFields(part)));
    this.text = this.#values.map(({ text }) => text).join("\n");
  }

  /** @throws Error for a text that is too long */
  has({ key, text }: Value): boolean {
    const value = text.trim();
    if (key === undefined && value.length >= MIN_QUOTED_CHARS && this.text.includes(value)) return true;
    this.#index ??= this.#readIndex();
    const { whole, words } = this.#index;
    if (key === undefined) return whole.has(value);
    if (!wordsOf(key).every((word) => words.has(word))) return false;
    if (whole.has(value) || words.has(value.toLowerCase())) return true;
    const isSeveralWords = /\P{L}/u.test(value) && Number.isNaN(Number(value));
    return isSeveralWords && this.text.includes(value);
  }

  /** Values and lines as they are; words, numbers and keys in lower case. */
  #readIndex() {
    if (this.text.length > MAX_READ_CHARS) throw new Error("The text is too long to compare.");
    const values = this.#values.flatMap((value) => [value, ...valuesOf(parseJson(value.text))]);
    const lines = values.flatMap(({ text }) => text.split("\n")).map((line) => line.trim());
    const names = this.text.match(/[\p{L}\p{N}_-]+/gu) ?? [];
    const keys = values.flatMap(({ key = "" }) => wordsOf(key));
    return {
      whole: new Set([...values.map(({ text }) => text.trim()), ...lines]),
      words: new Set([...keys, ...wordsOf(this.text), ...names.map((name) => name.toLowerCase())]),
    };
  }
}

/** The fields of a part that reach the model. */
function shownFields(part: unknown): unknown {
  if (typeof part !== "object" || part === null) return undefined;
  const { _meta, annotations, ...shown } = part as Record<string, unknown>;
  return shown;
}

/** Words in lower case. `isDirectory` and `is_directory` are two words; a number keeps its sign and fraction. */
function wordsOf(text: string): string[] {
  return (text.match(/-?\d+(?:\.\d+)*|\p{Lu}*\p{Ll}+|\p{L}+/gu) ?? []).map((word) => word.toLowerCase());
}

/** Undefined for a text that is not a JSON object or list. */
function parseJson(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
