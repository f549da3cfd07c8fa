import { BonsaiError } from "@bonsai-agent/messages";

/** A query, ready to be looked for in texts and, before they are parsed, in stored lines. */
export interface SearchPattern {
  /** Where the query stands in a text. */
  find(text: string): { start: number; end: number } | undefined;
  /** False only when no text of this stored line, read as Latin-1, can hold the query. */
  mayMatchLine(line: string): boolean;
}

/** @throws BonsaiError `bad_search_pattern` */
export function searchPattern(query: string, { regex = false }: { regex?: boolean }): SearchPattern {
  const expression = regex ? userExpression(query) : new RegExp(escaped(query), "i");
  const find = (text: string) => {
    const match = expression.exec(text);
    return match === null ? undefined : { start: match.index, end: match.index + match[0].length };
  };
  return { find, mayMatchLine: regex ? () => true : lineFilter(query) };
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

function userExpression(query: string): RegExp {
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
