import { BonsaiError } from "@bonsai-agent/messages";

/** Where something stands in a text. */
export interface TextRange {
  start: number;
  end: number;
}

/** A query, ready to be looked for in texts and, before they are parsed, in stored lines. */
export interface SearchPattern {
  /** Where the query stands in a text. */
  find(text: string): TextRange | undefined;
  /** False only when no text of this stored line, read as Latin-1, can hold the query. */
  mayMatchLine(line: string): boolean;
}

/** A text, to be found in upper and lower case. */
export function searchPattern(query: string): SearchPattern {
  const expression = new RegExp(escaped(query), "i");
  const find = (text: string) => {
    const match = expression.exec(text);
    return match === null ? undefined : { start: match.index, end: match.index + match[0].length };
  };
  return { find, mayMatchLine: lineFilter(query) };
}

/**
 * JSON may write any character as `\uXXXX`, and some in other ways; but letters and digits it writes as they
 * are or as `\u`. So a line that has neither the query's longest run of them nor any `\u` cannot match.
 */
function lineFilter(query: string): (line: string) => boolean {
  const runs = query.match(/[A-Za-z0-9 ]+/g) ?? [];
  const longest = runs.reduce((a, b) => (b.length > a.length ? b : a), "");
  if (longest === "") return () => true;
  const filter = new RegExp(`${longest}|\\\\u`, "i");
  return (line) => filter.test(line);
}

/**
 * A query that is a regular expression. It is run where it can be ended: some take for ever.
 * @throws BonsaiError `bad_search_pattern`
 */
export function searchExpression(query: string): RegExp {
  try {
    return new RegExp(query, "i");
  } catch (cause) {
    throw new BonsaiError({
      code: "bad_search_pattern",
      message: `"${query}" is no regular expression: ${(cause as Error).message}`,
      hint: "Escape special characters with a backslash, or search for plain text.",
      cause,
    });
  }
}

function escaped(query: string): string {
  return query.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
