import type { ListedPrompt } from "./listing.ts";

type Declared = ListedPrompt["arguments"];

/** Arguments of a prompt as they stand behind its command. */
export interface ReadArguments {
  values: Record<string, string>;
  /** Arguments that must be given and are not. */
  missing: Declared[number][];
}

/**
 * Reads `a "b c" name=value`: words by position, and by name where an argument is called so. Words beyond the last
 * argument belong to it.
 */
export function readArguments(text: string, declared: Declared): ReadArguments {
  const values: Record<string, string> = {};
  const words: string[] = [];
  for (const word of wordsOf(text)) {
    const [, name = "", value = ""] = /^([^=\s]+)=([\s\S]*)$/.exec(word.text) ?? [];
    if (!word.isQuoted && declared.some((argument) => argument.name === name)) values[name] = value;
    else words.push(word.text);
  }
  const open = declared.filter(({ name }) => !Object.hasOwn(values, name));
  for (const [at, { name }] of open.entries()) {
    const isLast = at === open.length - 1;
    const given = isLast ? words.slice(at).join(" ") : words[at];
    if (given !== undefined && given !== "") values[name] = given;
  }
  const missing = declared.filter(({ name, required }) => required && !values[name]);
  return { values, missing };
}

interface Word {
  text: string;
  /** It begins with a quote: no `name=` stands in front. */
  isQuoted: boolean;
}

const word = /([^\s"'=]+=)?(?:"((?:\\.|[^"\\])*)(?:"|$)|'([^']*)(?:'|$))|\S+/g;

/** Parted by blanks, but for what stands in quotes; a quote that is not closed goes to the end. One inside a word is part of it. */
function wordsOf(text: string): Word[] {
  return [...text.matchAll(word)].map(([whole, name = "", double, single]) => {
    const inner = double?.replace(/\\(["\\])/g, "$1") ?? single;
    return inner === undefined
      ? { text: whole, isQuoted: false }
      : { text: name + inner, isQuoted: name === "" };
  });
}

/** The word that is being typed, for completion. */
export interface BegunArgument {
  argument: Declared[number];
  /** What there is of it. */
  value: string;
  /** What stands in front of the value, to be kept. */
  before: string;
  earlier: Readonly<Record<string, string>>;
}

/** Which argument a text has come to; undefined behind the last one. */
export function begunArgument(text: string, declared: Declared): BegunArgument | undefined {
  const start = /(?<=^|\s)\S*$/.exec(text)?.index ?? text.length;
  const typed = text.slice(start);
  const { values } = readArguments(text.slice(0, start), declared);
  const name = declared.find((argument) => typed.startsWith(`${argument.name}=`))?.name;
  if (name !== undefined) {
    const argument = declared.find((each) => each.name === name)!;
    const at = start + name.length + 1;
    return { argument, value: text.slice(at), before: text.slice(0, at), earlier: values };
  }
  const argument = declared.find((each) => !Object.hasOwn(values, each.name));
  return argument && { argument, value: typed, before: text.slice(0, start), earlier: values };
}

/** As one would write them: `<city> [state]`. */
export function argumentHint(declared: Declared): string {
  return declared.map(({ name, required }) => (required ? `<${name}>` : `[${name}]`)).join(" ");
}

/** A value as a word of a command. */
export function asWord(value: string): string {
  return value === "" || /[\s"'\\]/.test(value) ? `"${value.replace(/["\\]/g, "\\$&")}"` : value;
}
