import { posix } from "node:path";
import { shownCount } from "../result-text.ts";

/** Longer than any path that a system accepts. */
const MAX_GLOB_CHARS = 2_000;
const MAX_RANGE_NUMBERS = 1_000;
/** Globs that the choices and ranges of one glob can stand for. */
const MAX_CHOICES = 1_000;

/**
 * Returns a test for relative paths with `/`. A glob can contain `*`, `?`, `**`, `[a-z]`, `{a,b}` and `{1..9}`. As in
 * .gitignore, a glob without a slash matches names at any depth. A leading `!` negates the glob. Brackets and braces also
 * match themselves: `[id]` finds a folder of that name.
 * @throws Error for a glob beyond the limits, as a sentence for its author
 */
export function globMatcher(glob: string): (path: string) => boolean {
  const isNegated = glob.startsWith("!");
  const patterns = choicesOf(tokensOf(glob.replace(/^!/, "").replace(/^\.?\//, ""))).map(
    (tokens) => new PathPattern(tokens, { matchesOwnBrackets: true }),
  );
  const isNameOnly = !glob.includes("/");
  return (path) => {
    const tested = isNameOnly ? posix.basename(path) : path;
    return patterns.some((pattern) => pattern.matches(tested)) !== isNegated;
  };
}

/** Returns the pattern of a line in an ignore file, without the slashes at its ends: braces have no meaning. */
export function ignorePattern(line: string): PathPattern {
  return new PathPattern(tokensOf(line), { matchesOwnBrackets: false });
}

/** An escaped character, a class in brackets, or one character. */
const TOKEN = /\\[\s\S]|\[[!^]?\]?(?:\[:\w+:\]|\\[\s\S]|[^\]\\/])*\]|[\s\S]/gu;

function tokensOf(glob: string): string[] {
  const { length } = Array.from(glob);
  if (length > MAX_GLOB_CHARS)
    throw new Error(
      `The glob has ${shownCount(length)} characters; the maximum is ${shownCount(MAX_GLOB_CHARS)}. Give the folder as path and a shorter glob.`,
    );
  return (glob.match(TOKEN) ?? []).map((token) => (token === "\\/" ? "/" : token));
}

/** Returns the globs that a glob with `{a,b}` and `{1..9}` stands for. Braces without a choice are characters. */
function choicesOf(tokens: readonly string[], found: string[][] = []): string[][] {
  const close = tokens.findIndex((token, at) => token === "}" && tokens.lastIndexOf("{", at) >= 0);
  if (close < 0) {
    if (found.push([...tokens]) > MAX_CHOICES)
      throw new Error(
        `The choices and number ranges of the glob stand for more than ${shownCount(MAX_CHOICES)} globs. Use * for some of them.`,
      );
    return found;
  }
  const open = tokens.lastIndexOf("{", close);
  const inner = tokens.slice(open + 1, close);
  const itself = ["{", ...inner, "}"].map((token) => (/^[{},]$/.test(token) ? `\\${token}` : token));
  for (const choice of [
    ...(rangeOf(inner.join("")) ?? (inner.includes(",") ? parted(inner, ",") : [])),
    itself,
  ])
    choicesOf([...tokens.slice(0, open), ...choice, ...tokens.slice(close + 1)], found);
  return found;
}

/** Returns the numbers of `1..9`, with the zeros of `01..09`. */
function rangeOf(inner: string): string[][] | undefined {
  const [, first, last] = /^(-?\d{1,9})\.\.(-?\d{1,9})$/.exec(inner) ?? [];
  if (first === undefined || last === undefined) return undefined;
  const [from, to] = [Math.min(Number(first), Number(last)), Math.max(Number(first), Number(last))];
  if (to - from >= MAX_RANGE_NUMBERS)
    throw new Error(
      `The range {${inner}} of the glob covers more than ${shownCount(MAX_RANGE_NUMBERS)} numbers. Use * instead.`,
    );
  const width = /^-?0\d/.test(first) ? first.length : 0;
  return Array.from({ length: to - from + 1 }, (_, at) => [...String(from + at).padStart(width, "0")]);
}

type NameTest = (name: string) => boolean;

interface PatternOptions {
  /** True: a class in brackets also matches its own text. */
  matchesOwnBrackets: boolean;
}

/** A glob without choices. Matching is linear: a regular expression for the whole glob takes seconds for four stars. */
export class PathPattern {
  /** One test for each name; undefined for `**`, any number of folders. */
  readonly #names: readonly (NameTest | undefined)[];

  constructor(tokens: readonly string[], options: PatternOptions) {
    const tests = parted(tokens, "/").map((name) =>
      name.join("") === "**" ? undefined : nameTest(name, options),
    );
    // `a/**` matches everything below `a`, but not `a`.
    this.#names = tests.at(-1) === undefined ? [...tests.slice(0, -1), () => true, undefined] : tests;
  }

  /** True if the glob matches the whole path. */
  matches(path: string): boolean {
    if (this.#names.length === 1) return !path.includes("/") && this.#names[0]!(path);
    const names = path.split("/");
    let at = 0;
    let next = 0;
    // The latest `**` takes one more name if what follows it does not match; an earlier one need not be tried again.
    let latest: { at: number; next: number } | undefined;
    while (next < names.length) {
      if (at < this.#names.length && this.#names[at] === undefined) {
        latest = { at, next };
        at += 1;
      } else if (this.#names[at]?.(names[next]!)) {
        at += 1;
        next += 1;
      } else if (latest !== undefined) {
        latest.next += 1;
        at = latest.at + 1;
        next = latest.next;
      } else return false;
    }
    return this.#names.slice(at).every((name) => name === undefined);
  }
}

function parted(tokens: readonly string[], separator: string): string[][] {
  const parts: string[][] = [[]];
  for (const token of tokens) {
    if (token === separator) parts.push([]);
    else parts.at(-1)!.push(token);
  }
  return parts;
}

function nameTest(tokens: readonly string[], { matchesOwnBrackets }: PatternOptions): NameTest {
  const hasClass = tokens.some(isClass);
  if (!hasClass && !tokens.some((token) => token === "*" || token === "?")) {
    const text = tokens.map(characterOf).join("");
    return (name) => name === text;
  }
  const byClass = nameExpression(tokens, classSource);
  if (!hasClass || !matchesOwnBrackets) return (name) => byClass.test(name);
  const byEither = nameExpression(tokens, (token) => `(?:${escaped(token)}|${classSource(token)})`);
  return (name) => byClass.test(name) || byEither.test(name);
}

function isClass(token: string): boolean {
  return token.length > 1 && token.startsWith("[");
}

function characterOf(token: string): string {
  return token.length > 1 && token.startsWith("\\") ? token.slice(1) : token;
}

/** Finds the text up to each star at its first place only: a lookahead is not entered a second time. */
function nameExpression(tokens: readonly string[], sourceOfClass: (token: string) => string): RegExp {
  const parts = [""];
  for (const [at, token] of tokens.entries()) {
    if (token !== "*")
      parts[parts.length - 1] +=
        token === "?" ? "." : isClass(token) ? sourceOfClass(token) : escaped(characterOf(token));
    else if (tokens[at - 1] !== "*") parts.push("");
  }
  const [first = "", ...others] = parts;
  const last = others.pop();
  const middle = others.map((part, at) => `(?=(.*?${part}))\\${at + 1}`).join("");
  return new RegExp(`^${first}${middle}${last === undefined ? "" : `.*${last}`}$`, "su");
}

const NAMED_CLASSES: Readonly<Record<string, string>> = {
  alnum: "a-zA-Z0-9",
  alpha: "a-zA-Z",
  blank: " \\t",
  digit: "0-9",
  lower: "a-z",
  punct: "!-\\/:-@\\[-`{-~",
  space: "\\s",
  upper: "A-Z",
  xdigit: "0-9a-fA-F",
};

/** Returns the class as a regular expression. A class without members, such as `[z-a]`, matches nothing. */
function classSource(token: string): string {
  const [, not = "", members = ""] = /^\[([!^]?)([\s\S]*)\]$/.exec(token)!;
  const member = /\[:(\w+):\]|(\\?[\s\S])-(\\?[\s\S])|\\?[\s\S]/gu;
  const source = members.replaceAll(member, (whole, name?: string, from?: string, to?: string) => {
    if (name !== undefined) return NAMED_CLASSES[name] ?? inClass(whole);
    if (from === undefined || to === undefined) return inClass(characterOf(whole));
    const [first, last] = [characterOf(from), characterOf(to)];
    return first.codePointAt(0)! <= last.codePointAt(0)! ? `${inClass(first)}-${inClass(last)}` : "";
  });
  if (members === "" || (source === "" && not === "")) return "(?!)";
  return `[${not === "" ? "" : "^"}${source}]`;
}

function inClass(text: string): string {
  return text.replaceAll(/[\\^[\]-]/g, "\\$&");
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
