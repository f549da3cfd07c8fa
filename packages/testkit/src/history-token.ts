/** One parsed word of a history notation. */
export interface HistoryToken {
  /** The word's letters: `U`, `A`, `T`, `B`, `X`, `S`, `C`, `E`, `M`, `Z`, `^` or a metadata letter. */
  kind: string;
  /** What stands directly after the letters, such as the `1` of `T1`. */
  suffix: string;
  /** What stands in parentheses, split at spaces; undefined without parentheses. */
  args: string[] | undefined;
  /** What stands in double quotes. */
  text: string | undefined;
  /** `:100`: the size in tokens, four characters each. */
  tokens: number | undefined;
  /** `@190000`: the total tokens of the answer's usage. */
  usageTokens: number | undefined;
  /** `~aborted`: the answer's stop reason. */
  stopReason: string | undefined;
  /** `*2`: how many images. */
  images: number;
  /** `!`: a failed result, or a command that is kept out of the context. */
  flagged: boolean;
}

const word = /^(\^|[A-Za-z])([%\w]*)(?:\(([^)]*)\))?(?:"([^"]*)")?((?:[:@~*][\w.]+|!)*)/;

/** Splits a notation into its words; `|` and line breaks only separate. Throws on what it cannot read. */
export function parseHistory(notation: string): HistoryToken[] {
  const tokens: HistoryToken[] = [];
  let rest = notation.trimStart();
  while (rest !== "") {
    if (rest.startsWith("|")) {
      rest = rest.slice(1).trimStart();
      continue;
    }
    const match = word.exec(rest);
    const after = match === null ? rest : rest.slice(match[0].length);
    if (match === null || !/^(\s|\||$)/.test(after))
      throw new Error(`Cannot read the history at: ${rest.slice(0, 40)}`);
    tokens.push(token(match));
    rest = after.trimStart();
  }
  return tokens;
}

function token(match: RegExpExecArray): HistoryToken {
  const marks = match[5] ?? "";
  const number = (sign: string) => {
    const found = new RegExp(`\\${sign}(\\d+)`).exec(marks);
    return found === null ? undefined : Number(found[1]);
  };
  return {
    kind: match[1] ?? "",
    suffix: match[2] ?? "",
    args: match[3]?.split(/\s+/).filter((arg) => arg !== ""),
    text: match[4],
    tokens: number(":"),
    usageTokens: number("@"),
    stopReason: /~(\w+)/.exec(marks)?.[1],
    images: number("*") ?? 0,
    flagged: marks.includes("!"),
  };
}
