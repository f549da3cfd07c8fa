/** Strings of this many characters are left out of a structured result if the text has them. */
const MIN_OMITTED_CHARS = 200;
/** A shorter string in a wrapper must be a whole line of the text: one word in a sentence proves nothing. */
const MIN_QUOTED_CHARS = 20;
/** Upper bound for the search: characters of the text times values of the structured result. */
const MAX_SEARCHED_CHARS = 200_000_000;
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
    const seen = new SeenContent(content);
    const values = valuesOf(structured);
    if (values.length * seen.text.length > MAX_SEARCHED_CHARS) return structured;
    if (values.every((value) => seen.has(value))) return undefined;
    return JSON.parse(JSON.stringify(structured), (_key, value) =>
      typeof value === "string" && value.length >= MIN_OMITTED_CHARS && seen.text.includes(value)
        ? OMITTED
        : value,
    );
  } catch {
    // Nested too deep to compare.
    return structured;
  }
}

/** A string, number, boolean, null or empty list or object. The key is undefined in a wrapper. */
interface Value {
  key: string | undefined;
  text: string;
}

function valuesOf(value: unknown, key?: string): Value[] {
  if (typeof value !== "object" || value === null) return [{ key, text: String(value) }];
  const fields = Object.entries(value);
  if (fields.length === 0) return [{ key, text: Array.isArray(value) ? "[]" : "{}" }];
  const isWrapper = Array.isArray(value) || fields.length === 1;
  return fields.flatMap(([name, inner]) => valuesOf(inner, isWrapper ? key : name));
}

/** Everything that the model sees of the blocks of a result. A text that is JSON is also known by its values. */
class SeenContent {
  readonly text: string;
  readonly #texts: string[] = [];
  /** Values, and lines of texts. */
  readonly #whole = new Set<string>();
  /** Words, numbers and keys in lower case. */
  readonly #words = new Set<string>();

  constructor(blocks: readonly unknown[]) {
    for (const block of blocks) this.#add(shownFields(block));
    for (const text of [...this.#texts]) this.#add(parseJson(text));
    this.text = this.#texts.join("\n");
    for (const line of this.text.split("\n")) this.#whole.add(line.trim());
    for (const word of wordsOf(this.text)) this.#words.add(word);
    for (const [name] of this.text.matchAll(/[\p{L}\p{N}_-]+/gu)) this.#words.add(name.toLowerCase());
  }

  #add(value: unknown): void {
    if (value === undefined) return;
    for (const { key, text } of valuesOf(value)) {
      this.#texts.push(text);
      this.#whole.add(text.trim());
      if (key !== undefined) for (const word of wordsOf(key)) this.#words.add(word);
    }
  }

  has({ key, text }: Value): boolean {
    const value = text.trim();
    if (this.#whole.has(value)) return key === undefined || this.#hasKey(key);
    if (key === undefined) return value.length >= MIN_QUOTED_CHARS && this.text.includes(value);
    return this.#hasKey(key) && (this.#words.has(value.toLowerCase()) || this.#quotes(value));
  }

  #hasKey(key: string): boolean {
    return wordsOf(key).every((word) => this.#words.has(word));
  }

  /** True for several words that the text has in one piece. */
  #quotes(value: string): boolean {
    return /\P{L}/u.test(value) && Number.isNaN(Number(value)) && this.text.includes(value);
  }
}

/** The fields of a block that reach the model. */
function shownFields(block: unknown): unknown {
  if (typeof block !== "object" || block === null) return undefined;
  const { _meta, annotations, ...shown } = block as Record<string, unknown>;
  return shown;
}

/** Words in lower case. `isDirectory` and `is_directory` are two words; a number keeps its sign and fraction. */
function wordsOf(text: string): string[] {
  return (text.match(/-?\d+(?:\.\d+)*|\p{Lu}*\p{Ll}+|\p{L}+/gu) ?? []).map((word) => word.toLowerCase());
}

function parseJson(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
