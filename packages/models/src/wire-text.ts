/** The JSON of a text, else the text: what a server says of its failure counts, in whatever form. Nothing for none. */
export function jsonOrText(text: string | undefined): unknown {
  if (text === undefined || text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * A text of an event; "" where it has none.
 * @throws TypeError for anything else, which would be stored as it came and could not be read back
 */
export function textIn(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  throw new TypeError(`A text of the stream is of type ${typeof value}.`);
}

/** The id of a call: some servers count theirs. "" for what is none; such a call gets one of ours. */
export function idIn(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}
