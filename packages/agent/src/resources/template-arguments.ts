/** The arguments after the name of a template, parsed as in a shell. */
export interface TemplateArguments {
  /** Without their quotes. */
  words: readonly TemplateWord[];
  /** All of them, with the blanks between them as they were typed. */
  all: string;
}

interface TemplateWord {
  text: string;
  /** The blanks in front of it. */
  gap: string;
}

/**
 * Reads arguments: blanks part them; a quote at the beginning of one holds what is between, in which a backslash keeps
 * the same quote; a quote that is not closed is a character like others.
 */
export function templateArguments(typed: string): TemplateArguments {
  const words: TemplateWord[] = [];
  let at = 0;
  while (at < typed.length) {
    const gap = /^\s*/.exec(typed.slice(at))![0];
    at += gap.length;
    if (at >= typed.length) break;
    const { text, end } = wordAt(typed, at);
    words.push({ text, gap: words.length === 0 ? "" : gap });
    at = end;
  }
  return { words, all: joined(words) };
}

const quotedStart = /(["'])((?:\\\1|\\(?!\1)|(?!\1|\\)[\s\S])*)\1/y;
const bareWord = /\S*/y;

function wordAt(typed: string, from: number): { text: string; end: number } {
  quotedStart.lastIndex = from;
  const quoted = quotedStart.exec(typed);
  bareWord.lastIndex = quoted === null ? from : quotedStart.lastIndex;
  const bare = bareWord.exec(typed)![0];
  if (quoted === null) return { text: bare, end: from + bare.length };
  const [whole, quote = "", inner = ""] = quoted;
  return { text: inner.replaceAll(`\\${quote}`, quote) + bare, end: from + whole.length + bare.length };
}

/** A place for arguments. `\$1` and an amount of money such as `$1.50` are text. */
const place =
  /(\\?)(?:\$\{(\d+|@|ARGUMENTS):-([^}]*)\}|\$\{@:(\d+)(?::(\d+))?\}|\$ARGUMENTS\[(\d+)\]|\$\{(\d+|@|ARGUMENTS)\}|\$(ARGUMENTS(?!\w)|@|\d+(?!\d|[.,]\d)))/g;

/**
 * A text with the arguments in their places, in one pass: what an argument holds is not looked at again.
 * @returns `isUsed`: false where the text has no place for arguments
 */
export function withArguments(
  body: string,
  { words, all }: TemplateArguments,
): { text: string; isUsed: boolean } {
  let isUsed = false;
  // A template with $0 counts from 0, as commands of Claude Code do.
  const first = /(?<!\\)\$0(?!\d)/.test(body) ? 0 : 1;
  const highest = highestPlace(body, first);
  const word = (target: string) =>
    target === "@" || target === "ARGUMENTS" ? all : (words[Number(target) - first]?.text ?? "");
  const text = body.replaceAll(
    place,
    (whole: string, backslash: string, target?: string, preset?: string, ...rest: (string | undefined)[]) => {
      if (backslash !== "") return whole.slice(1);
      const [from, length, index, braced, simple] = rest;
      if (simple !== undefined && Number(simple) > highest && words[Number(simple) - first] === undefined)
        return whole;
      isUsed = true;
      if (target !== undefined) return word(target) || (preset ?? "");
      if (from !== undefined) return slice(words, Math.max(0, Number(from) - 1), length);
      if (index !== undefined) return words[Number(index)]?.text ?? "";
      return word(braced ?? simple ?? "");
    },
  );
  return { text, isUsed };
}

/** Returns the last place before a gap: without `$4` and a fifth argument, `$5` is an amount of money. */
function highestPlace(body: string, first: number): number {
  const numbers = [...body.matchAll(/(?<!\\)\$\{?(\d+)(?!\d|[.,]\d)/g)].map(([, number]) => Number(number));
  const used = new Set(numbers);
  let highest = first;
  while (used.has(highest)) highest += 1;
  return highest - 1;
}

function slice(words: readonly TemplateWord[], start: number, length: string | undefined): string {
  return joined(words.slice(start, length === undefined ? undefined : start + Number(length)));
}

function joined(words: readonly TemplateWord[]): string {
  return words.map(({ text, gap }, at) => (at === 0 ? text : gap + text)).join("");
}
