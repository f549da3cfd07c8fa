import type { ShellWord } from "./shell-word.ts";

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
  if (chars > MOST_CHARS) throw new RangeError("The command's words are too many to be read.");
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
