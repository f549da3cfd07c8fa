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
