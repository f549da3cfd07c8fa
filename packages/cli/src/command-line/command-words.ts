import type { CommandGrammar, CommandGroup } from "../grammar/command-grammar.ts";
import { aliases, commandGroups, grammar } from "../grammar/grammar.ts";
import { nearestWord } from "../views/nearest-word.ts";

export interface FoundCommand {
  form: CommandGrammar;
  rest: readonly string[];
}

export function isCommandWord(word: string): boolean {
  return firstWords().has(word);
}

/** The command that a line names; undefined if it names none, or only a group. */
export function findCommand(argv: readonly string[]): FoundCommand | undefined {
  const words = withoutAlias(argv);
  const form = grammar.find(({ name }) => startsWith(words, name));
  return form && { form, rest: words.slice(wordCount(form.name)) };
}

export function findGroup(word: string | undefined): CommandGroup | undefined {
  return commandGroups.find(({ name }) => name === word);
}

export function commandsOf(group: CommandGroup): readonly CommandGrammar[] {
  return grammar.filter(({ name }) => name.startsWith(`${group.name} `));
}

/** The command name or group that a mistyped first word most likely means. */
export function nearestCommand(word: string): string | undefined {
  const nearest = nearestWord(word.toLowerCase(), [...firstWords(), "help"]);
  return aliases.find(([alias]) => alias === nearest)?.[1] ?? nearest;
}

/** The command of a group that a mistyped second word most likely means. */
export function nearestInGroup(group: CommandGroup, word: string): string | undefined {
  const names = commandsOf(group).map(({ name }) => name.slice(group.name.length + 1));
  const nearest = names.find((name) => name.startsWith(word) && word !== "") ?? nearestWord(word, names);
  return nearest && `${group.name} ${nearest}`;
}

function withoutAlias(argv: readonly string[]): readonly string[] {
  const found = aliases.find(([alias]) => startsWith(argv, alias));
  return found === undefined ? argv : [...found[1].split(" "), ...argv.slice(wordCount(found[0]))];
}

function startsWith(argv: readonly string[], name: string): boolean {
  return name.split(" ").every((word, at) => argv[at] === word);
}

function wordCount(name: string): number {
  return name.split(" ").length;
}

function firstWords(): ReadonlySet<string> {
  const names = [...grammar.map(({ name }) => name), ...aliases.map(([alias]) => alias)];
  return new Set(names.map((name) => name.split(" ")[0]!));
}
