/** The JSON of a text, else the text: what a server says of its failure counts, in whatever form. Nothing for none. */
export function jsonOrText(text: string | undefined): unknown {
  if (text === undefined || text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
