import type { ListedPrompt } from "./listing.ts";

type Declared = ListedPrompt["arguments"];

/** Arguments of a prompt in the text after its command. */
interface ReadArguments {
  values: Record<string, string>;
  /** Required arguments without a value. */
  missing: Declared[number][];
}

/**
 * Reads `a "b c" name=value`: words by position, and by name if an argument has this name. Words after the last argument
 * belong to it.
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
  return { values, missing: declared.filter(({ name, required }) => required && !values[name]) };
}

const word = /([^\s"'=]+=)?(?:"((?:\\.|[^"\\])*)(?:"|$)|'([^']*)(?:'|$))|\S+/g;

/** Splits at blanks outside of quotes. An open quote reaches to the end. A quote inside a word is part of it. */
function wordsOf(text: string): { text: string; isQuoted: boolean }[] {
  return [...text.matchAll(word)].map(([whole, name = "", double, single]) => {
    const inner = double?.replace(/\\(["\\])/g, "$1") ?? single;
    return inner === undefined
      ? { text: whole, isQuoted: false }
      : { text: name + inner, isQuoted: name === "" };
  });
}

/** `<city> [state]`: required and optional arguments. */
export function argumentHint(declared: Declared): string {
  return declared.map(({ name, required }) => (required ? `<${name}>` : `[${name}]`)).join(" ");
}

/** A value as a word of a command. */
export function asWord(value: string): string {
  return value === "" || /[\s"'\\]/.test(value) ? `"${value.replace(/["\\]/g, "\\$&")}"` : value;
}
