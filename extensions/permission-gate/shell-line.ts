import { homedir } from "node:os";
import { type ParseEntry, parse } from "shell-quote";

export interface ShellWord {
  text: string;
  /** True if the shell may replace the word by names of files or by several words. */
  isPattern: boolean;
}

/** One program with its arguments. */
export interface ShellCommand {
  /** The operator before the command; empty for the first one. */
  after: string;
  words: readonly ShellWord[];
  /** Files that redirections write. */
  writes: readonly ShellWord[];
}

/** A line that the reader cannot read surely. The message says why. */
export class UnreadableLine extends Error {}

const MAX_LINE_CHARS = 10_000;
const SEPARATORS = new Set([";", "&&", "||", "|", "|&", "&"]);
const WRITES = new Set([">", ">>", ">|", ">&", "&>", "&>>", "<>"]);

/** A piece of a line: a quoted text or an escaped character, a joined line, or one other character. */
const PIECE = /(?<quoted>'[^']*'|"(?:\\[^\n]|[^"\\])*"|\\[^\n])|(?<joined>\\\n)|(?<plain>[^'"\\])/y;
/** At the start of a word: a comment, or the number of a redirection. */
const SKIPPED = /#[^\n]*|\d+(?=[<>])/y;

/** Private characters replace brackets and braces in quotes, because shell-quote drops the quotes. */
const HIDDEN: Readonly<Record<string, string>> = { "[": "\uE000", "{": "\uE001" };
const SHOWN: Readonly<Record<string, string>> = { "\uE000": "[", "\uE001": "{" };

/**
 * Reads a line of shell into commands. It understands words, quotes, `;`, `&&`, `||`, pipes and redirections.
 * @throws UnreadableLine for everything else: substitutions, variables, subshells, here-documents, functions
 */
export function readLine(line: string): ShellCommand[] {
  const commands: ShellCommand[] = [];
  let after = "";
  let words: ShellWord[] = [];
  let writes: ShellWord[] = [];
  const finish = (operator: string) => {
    if (words.length > 0 || writes.length > 0) commands.push({ after, words, writes });
    after = operator;
    words = [];
    writes = [];
  };
  const entries = parsed(normalised(line));
  for (let at = 0; at < entries.length; at++) {
    const entry = entries[at]!;
    const word = asWord(entry);
    if (word !== undefined) {
      words.push(word);
      continue;
    }
    const operator = "op" in (entry as object) ? (entry as { op: string }).op : "#";
    if (SEPARATORS.has(operator)) finish(operator);
    else if (WRITES.has(operator) || operator === "<" || operator === "<&") {
      const target = asWord(entries[++at] ?? "");
      if (target === undefined) throw new UnreadableLine(`it uses ${operator} without a file`);
      const isFile = !operator.endsWith("&") || !/^(?:\d+|-)$/.test(target.text);
      if (isFile && operator !== "<") writes.push(target);
    } else throw new UnreadableLine(`it uses ${operator}`);
  }
  finish("");
  return commands;
}

function parsed(line: string): ParseEntry[] {
  try {
    return parse(line, variable);
  } catch (error) {
    // shell-quote throws for a substitution without an end.
    throw error instanceof UnreadableLine ? error : new UnreadableLine("it uses a substitution");
  }
}

/** Without comments and joined lines; line ends become `;`. */
function normalised(line: string): string {
  if (line.length > MAX_LINE_CHARS) throw new UnreadableLine("it is too long");
  // A shell and shell-quote split words at different spaces.
  if (/(?![ \t\n])[\s\p{Cc}\uE000\uE001]/u.test(line)) throw new UnreadableLine("it has unusual characters");
  let text = "";
  let isStart = true;
  for (let at = 0; at < line.length; ) {
    const skipped = isStart ? matchAt(SKIPPED, line, at) : null;
    const match = skipped ?? matchAt(PIECE, line, at);
    if (match === null) throw new UnreadableLine("its quotes do not match");
    const [piece] = match;
    at += piece.length;
    if (skipped !== null || match.groups?.joined !== undefined) continue;
    if (/^[^'].*`|^`/s.test(piece)) throw new UnreadableLine("it uses a backtick");
    if (piece === "$" && /['"]/.test(line.charAt(at))) throw new UnreadableLine("it uses a special quote");
    isStart = /^[\s;&|()]$/.test(piece);
    if (piece === "\n") text += /[|&]\s*$/.test(text) ? " " : " ; ";
    else text += match.groups?.quoted === undefined ? piece : quoted(piece);
  }
  return text;
}

/** A quoted text for shell-quote. In double quotes, a dollar sign before a space or the end is only a dollar sign. */
function quoted(text: string): string {
  const plain = text.startsWith('"')
    ? text.replaceAll(/\\.|\$(?=["\s|])/g, (found) => (found === "$" ? "\\$" : found))
    : text;
  return plain.replaceAll(/[[{]/g, (char) => HIDDEN[char]!);
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** The values of variables in a line. @throws UnreadableLine for all but HOME and the exit code */
function variable(name: string): string {
  if (name === "HOME") return homedir();
  if (name === "?") return "0";
  throw new UnreadableLine(/^\w+$/.test(name) ? `it uses $${name}` : "it uses a substitution");
}

function asWord(entry: ParseEntry): ShellWord | undefined {
  const isGlob = typeof entry === "object" && "pattern" in entry;
  if (typeof entry !== "string" && !isGlob) return undefined;
  const raw = isGlob ? entry.pattern : entry;
  const text = raw.replaceAll(/[\uE000\uE001]/g, (char) => SHOWN[char]!);
  return { text, isPattern: isGlob || /[[{]/.test(raw) };
}
