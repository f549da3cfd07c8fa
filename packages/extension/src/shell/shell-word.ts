/** A word of a command line, as the shell reads it. */
export interface ShellWord {
  /** Quotes and backslashes are taken away; expansions stay as they are written. */
  text: string;
  /** True where nothing of it is quoted, so that wildcards, braces and `~` in it are the shell's. */
  isPlain: boolean;
  /** The texts of the commands within `$(…)`, backticks, `<(…)` and `>(…)`. */
  substitutions: string[];
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
  const word: ShellWord = { text: "", isPlain: true, substitutions: [] };
  let at = start;
  while (at < source.length) {
    const char = source[at]!;
    const isProcess = (char === "<" || char === ">") && source[at + 1] === "(";
    if (ENDS.has(char) && !isProcess) break;
    at = isProcess ? readParenthesis(source, at + 1, word, char) : readPart(source, at, word);
  }
  return { word, end: at };
}

/** What stands in double quotes, or in the body of a here-document: only expansions mean something. */
export function readQuoted(source: string, start: number, word: ShellWord, end?: string): number {
  let at = start;
  while (at < source.length && source[at] !== end) {
    if (source[at] === "\\" && /[$`"\\\n]/.test(source[at + 1] ?? "")) {
      if (source[at + 1] !== "\n") word.text += source[at + 1];
      at += 2;
    } else at = readExpansion(source, at, word);
  }
  return at + 1;
}

function readPart(source: string, at: number, word: ShellWord): number {
  switch (source[at]) {
    case "\\":
      if (source[at + 1] === "\n") return at + 2;
      if (source[at + 1] === "\r" && source[at + 2] === "\n") return at + 3;
      word.isPlain = false;
      word.text += source[at + 1] ?? "";
      return at + 2;
    case "'": {
      const end = endOf(source, source.indexOf("'", at + 1));
      word.isPlain = false;
      word.text += source.slice(at + 1, end);
      return end + 1;
    }
    case '"':
      word.isPlain = false;
      return readQuoted(source, at + 1, word, '"');
    default:
      if (source.startsWith("$'", at)) return readEscaped(source, at + 2, word);
      if (source.startsWith('$"', at)) return readPart(source, at + 1, word);
      return readExpansion(source, at, word);
  }
}

/** `$'…'` */
function readEscaped(source: string, start: number, word: ShellWord): number {
  const [whole = ""] = /^(?:[^'\\]|\\[\s\S])*/.exec(source.slice(start)) ?? [];
  word.isPlain = false;
  word.text += whole.replaceAll(
    /\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{2,3})|([\s\S]))/g,
    (_, hex?: string, unicode?: string, octal?: string, letter = "") => {
      const code = hex ?? unicode;
      if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
      return ESCAPES[letter] ?? letter;
    },
  );
  return start + whole.length + 1;
}

function readExpansion(source: string, at: number, word: ShellWord): number {
  if (source.startsWith("$(", at)) return readParenthesis(source, at + 1, word, "$");
  if (source[at] === "`") return readBackticks(source, at, word);
  if (source.startsWith("${", at)) {
    const inner: ShellWord = { text: "", isPlain: false, substitutions: word.substitutions };
    const end = readQuoted(source, at + 2, inner, "}");
    word.text += source.slice(at, end);
    return end;
  }
  word.text += source[at];
  return at + 1;
}

function readBackticks(source: string, at: number, word: ShellWord): number {
  const [whole = ""] = /^(?:[^`\\]|\\[\s\S])*/.exec(source.slice(at + 1)) ?? [];
  word.substitutions.push(whole.replaceAll(/\\([`$\\])/g, "$1"));
  word.text += `\`${whole}\``;
  return at + whole.length + 2;
}

/** The command in a parenthesis whose opening stands at `open`. */
function readParenthesis(source: string, open: number, word: ShellWord, before: string): number {
  const close = closing(source, open);
  const inner = source.slice(open + 1, close);
  // Arithmetic is not run, but what it substitutes is.
  word.substitutions.push(inner.startsWith("(") && inner.endsWith(")") ? inner.slice(1, -1) : inner);
  word.text += `${before}(${inner})`;
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
