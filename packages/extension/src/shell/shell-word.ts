/** A word of a command line, as the shell reads it. */
export interface ShellWord {
  /** Quotes and backslashes are taken away; expansions stay as they are written. */
  text: string;
  /** True where nothing of it is quoted, so that wildcards, braces and `~` in it are the shell's. */
  isPlain: boolean;
  /** The texts of the commands within `$(…)`, backticks, `<(…)` and `>(…)`. */
  substitutions: string[];
  /** Of each character of the text: `p`lain, `q`uoted, in an e`x`pansion, in one between quotes (`y`). Absent in words that no line had. */
  kinds?: string;
}

const ENDS = new Set([" ", "\t", "\r", "\n", ";", "&", "|", "(", ")", "<", ">"]);
const ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  a: "\x07",
  e: "\x1b",
  "0": "\0",
};

/** Reads the word at a place, and says where it ends. What is never closed goes on to the end. */
export function readWord(source: string, start: number): { word: ShellWord; end: number } {
  const word: ShellWord = { text: "", isPlain: true, substitutions: [], kinds: "" };
  let at = start;
  while (at < source.length) {
    const char = source[at]!;
    const isProcess = (char === "<" || char === ">") && source[at + 1] === "(";
    if (ENDS.has(char) && !isProcess) break;
    at = isProcess
      ? readParenthesis(source, { open: at + 1, before: char, kind: "x" }, word)
      : readPart(source, at, word);
  }
  return { word, end: at };
}

/** What stands in double quotes, or in the body of a here-document: only expansions mean something. */
export function readQuoted(source: string, start: number, word: ShellWord, end?: string): number {
  let at = start;
  while (at < source.length && source[at] !== end) {
    if (source[at] === "\\" && /[$`"\\\n]/.test(source[at + 1] ?? "")) {
      if (source[at + 1] !== "\n") append(word, source[at + 1]!, "q");
      at += 2;
    } else at = readExpansion(source, at, word, true);
  }
  return at + 1;
}

function append(word: ShellWord, text: string, kind: "p" | "q" | "x" | "y"): void {
  word.text += text;
  if (word.kinds !== undefined) word.kinds += kind.repeat(text.length);
}

function readPart(source: string, at: number, word: ShellWord): number {
  switch (source[at]) {
    case "\\":
      if (source[at + 1] === "\n") return at + 2;
      if (source[at + 1] === "\r" && source[at + 2] === "\n") return at + 3;
      word.isPlain = false;
      append(word, source[at + 1] ?? "", "q");
      return at + 2;
    case "'": {
      const end = endOf(source, source.indexOf("'", at + 1));
      word.isPlain = false;
      append(word, source.slice(at + 1, end), "q");
      return end + 1;
    }
    case '"':
      word.isPlain = false;
      return readQuoted(source, at + 1, word, '"');
    default:
      if (source.startsWith("$'", at)) return readEscaped(source, at + 2, word);
      if (source.startsWith('$"', at)) return readPart(source, at + 1, word);
      return readExpansion(source, at, word, false);
  }
}

/** `$'…'` */
function readEscaped(source: string, start: number, word: ShellWord): number {
  const [whole = ""] = /^(?:[^'\\]|\\[\s\S])*/.exec(source.slice(start)) ?? [];
  word.isPlain = false;
  append(word, unescaped(whole), "q");
  return start + whole.length + 1;
}

/** A text as `$'…'`, `printf` and `echo -e` read it. */
export function unescaped(text: string): string {
  return text.replaceAll(
    /\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{2,4})|([\s\S]))/g,
    (_, hex?: string, unicode?: string, long?: string, octal?: string, letter = "") => {
      const code = hex ?? unicode ?? long;
      if (code !== undefined) return String.fromCodePoint(Math.min(Number.parseInt(code, 16), 0x10_ffff));
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
      return ESCAPES[letter] ?? letter;
    },
  );
}

const variable = /\$(?:\w+|[@*#?$!-])/y;

function readExpansion(source: string, at: number, word: ShellWord, isQuoted: boolean): number {
  const kind = isQuoted ? "y" : "x";
  if (source.startsWith("$(", at)) return readParenthesis(source, { open: at + 1, before: "$", kind }, word);
  if (source[at] === "`") return readBackticks(source, at, word, kind);
  if (source.startsWith("${", at)) {
    const inner: ShellWord = { text: "", isPlain: false, substitutions: word.substitutions };
    const end = readQuoted(source, at + 2, inner, "}");
    append(word, source.slice(at, end), kind);
    return end;
  }
  variable.lastIndex = at;
  const name = variable.exec(source)?.[0];
  append(word, name ?? source[at]!, name === undefined ? (isQuoted ? "q" : "p") : kind);
  return at + (name ?? " ").length;
}

function readBackticks(source: string, at: number, word: ShellWord, kind: "x" | "y"): number {
  const [whole = ""] = /^(?:[^`\\]|\\[\s\S])*/.exec(source.slice(at + 1)) ?? [];
  word.substitutions.push(whole.replaceAll(/\\([`$\\])/g, "$1"));
  append(word, `\`${whole}\``, kind);
  return at + whole.length + 2;
}

/** The command in a parenthesis whose opening stands at `open`. */
export function readParenthesis(
  source: string,
  { open, before, kind }: { open: number; before: string; kind: "x" | "y" },
  word: ShellWord,
): number {
  const close = closing(source, open);
  const inner = source.slice(open + 1, close);
  const isArithmetic = inner.startsWith("(") && inner.endsWith(")");
  // Arithmetic is not run, but what it substitutes is; its variables are numbers, with `$` or without.
  word.substitutions.push(isArithmetic ? inner.slice(1, -1).replaceAll(/\$(?=[\w{])/g, "") : inner);
  append(word, `${before}(${inner})`, kind);
  return close + 1;
}

/** Where the parenthesis ends that opens at a place; the end of the text where it never does. */
function closing(source: string, open: number): number {
  const ignored: ShellWord = { text: "", isPlain: true, substitutions: [] };
  let at = open + 1;
  while (at < source.length && source[at] !== ")") {
    if (source[at] === "(") at = closing(source, at) + 1;
    else at = readPart(source, at, ignored);
  }
  return at;
}

function endOf(source: string, found: number): number {
  return found === -1 ? source.length : found;
}

/** What variables were set to in the line itself; undefined where that only shows when it is run. */
export type Variables = Map<string, string | undefined>;

/** More than anybody writes by braces and variables. */
const MOST_CHARS = 1_000_000;
const MOST_VALUE_CHARS = 10_000;

/**
 * The words that the shell makes of one: by braces, and by the variables that the line itself has set.
 * @throws RangeError for what would fill the memory
 */
export function expandWord(word: ShellWord, variables: Variables): ShellWord[] {
  if (word.kinds === undefined || !/[{$]/.test(word.text)) return [word];
  return byBraces(word).flatMap((each) => byVariables(each, variables));
}

/** A part of a word, without its substitutions: those are run once. */
function part(word: ShellWord, begin: number, end: number): ShellWord {
  const { text, kinds = "" } = word;
  return { ...word, text: text.slice(begin, end), kinds: kinds.slice(begin, end) };
}

function joined(...parts: readonly ShellWord[]): ShellWord {
  const text = parts.map((each) => each.text).join("");
  return { ...parts[0]!, text, kinds: parts.map(({ kinds = "" }) => kinds).join("") };
}

function byBraces(word: ShellWord): ShellWord[] {
  let words = [word];
  for (;;) {
    const next = words.flatMap(firstBraces);
    if (next.length === words.length) return words;
    checkSize(next.reduce((sum, { text }) => sum + text.length, 0));
    words = next;
  }
}

interface Braces {
  open: number;
  commas: number[];
  close: number;
}

/** The first braces with a comma that are in no others, each of their parts in their place. */
function firstBraces(word: ShellWord): ShellWord[] {
  const braces = outermost(word);
  if (braces === undefined) return [word];
  const before = part(word, 0, braces.open);
  const after = part(word, braces.close + 1, word.text.length);
  const edges = [braces.open, ...braces.commas, braces.close];
  checkSize(edges.length * (before.text.length + after.text.length));
  return edges.slice(1).map((end, index) => joined(before, part(word, edges[index]! + 1, end), after));
}

function outermost({ text, kinds = "" }: ShellWord): Braces | undefined {
  const open: Braces[] = [];
  let first: Braces | undefined;
  for (let at = 0; at < text.length; at++) {
    if (kinds[at] !== "p") continue;
    if (text[at] === "{") open.push({ open: at, commas: [], close: at });
    else if (text[at] === ",") open.at(-1)?.commas.push(at);
    else if (text[at] === "}") {
      const braces = open.pop();
      if (braces === undefined || braces.commas.length === 0) continue;
      if (first === undefined || braces.open < first.open) first = { ...braces, close: at };
    }
  }
  return first;
}

/** @throws RangeError for what would fill the memory */
export function checkSize(chars: number): void {
  if (chars > MOST_CHARS) throw new RangeError("The command is too long to check.");
}

const reference = /^\$(?:(\w+)|\{(\w+)\})$/;

/** Each expansion by itself: a name ends where quotes begin. */
function expansionsIn({ text, kinds = "" }: ShellWord): { index: number; text: string; kind: string }[] {
  return [...kinds.matchAll(/x+|y+/g)].flatMap(({ index: begin, 0: run }) =>
    [...text.slice(begin, begin + run.length).matchAll(/\$(?:\w+|\{\w+\})/g)].map((found) => ({
      index: begin + found.index,
      text: found[0],
      kind: run[0]!,
    })),
  );
}

/** Values that stand in no quotes are divided at white space. */
function byVariables(word: ShellWord, variables: Variables): ShellWord[] {
  const words: ShellWord[] = [];
  let current = part(word, 0, 0);
  let done = 0;
  const add = (text: string, isDivided: boolean) => {
    const [first = "", ...rest] = isDivided ? text.split(/[ \t\n]+/) : [text];
    current = joined(current, { ...word, text: first, kinds: "q".repeat(first.length) });
    for (const each of rest) {
      words.push(current);
      current = { ...word, text: each, kinds: "q".repeat(each.length) };
    }
  };
  for (const { index, text, kind } of expansionsIn(word)) {
    const [whole = "", bare, braced] = reference.exec(text) ?? [];
    const name = bare ?? braced ?? "";
    const value = variables.get(name) ?? (name === "IFS" ? " " : undefined);
    if (whole === "" || value === undefined) continue;
    current = joined(current, part(word, done, index));
    checkSize(current.text.length + words.length);
    add(value, kind === "x");
    done = index + whole.length;
  }
  const all = [...words, joined(current, part(word, done, word.text.length))];
  return all.length === 1 ? all : all.filter(({ text }) => text !== "");
}

/** True where the name of the program that a word names only shows when the line is run. */
export function isDynamicName({ text, kinds = "" }: ShellWord): boolean {
  if (text === "[" || text === "[[") return false;
  for (let at = text.length - 1; at >= 0; at--) {
    const kind = kinds[at];
    if (kind === "x" || kind === "y") return true;
    if (text[at] === "/") return false;
    if (kind === "p" && /[*?[]/.test(text[at]!)) return true;
  }
  return false;
}

/** Takes over what a command sets. */
export function setVariables(words: readonly ShellWord[], variables: Variables): void {
  const names = words.map(({ text }) => text);
  const [command = ""] = names;
  const isAssignment = ({ text }: ShellWord) => /^\w+\+?=/.test(text);
  if (words.every(isAssignment) || /^(?:export|declare|local|readonly|typeset)$/.test(command)) {
    for (const word of words.filter(isAssignment)) assign(word, variables);
  } else if (/^(?:read|mapfile|readarray|getopts|printf|unset|for|select)$/.test(command)) {
    for (const name of names.slice(1)) if (/^\w+$/.test(name)) variables.set(name, undefined);
  }
}

function assign({ text, kinds = "" }: ShellWord, variables: Variables): void {
  const [, name = "", plus = "", value = ""] = /^(\w+)(\+?)=([\s\S]*)$/.exec(text) ?? [];
  const isLiteral =
    plus === "" && value.length <= MOST_VALUE_CHARS && !/[xy]/.test(kinds.slice(name.length + 1));
  const isOther = variables.has(name) && variables.get(name) !== value;
  // Which of two holds, a condition may decide.
  variables.set(name, isLiteral && !isOther ? value : undefined);
}
