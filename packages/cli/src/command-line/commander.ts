import type { BonsaiError } from "@bonsai-agent/messages";
import { type Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { wrongUsage } from "../call/failure.ts";
import type { CliIo } from "../call/io.ts";
import { Output } from "../call/output.ts";
import type { CommandGrammar, OptionGrammar } from "../grammar/command-grammar.ts";
import { insteadOfFlag } from "./pi-words.ts";

/** Makes commander throw its errors, and print only help. */
export function configureCommand(command: Command, io: CliIo): void {
  command.exitOverride().allowExcessArguments(false).helpCommand(false);
  command.helpOption("-h, --help", "show this help");
  command.configureHelp({ minWidthToWrap: 12 });
  command.configureOutput({
    writeOut: (text) => io.stdout.write(text),
    writeErr: () => {},
    getOutHelpWidth: () => new Output(io, false).width,
    getOutHasColors: () => false,
  });
}

export function optionOf(form: OptionGrammar): Option {
  const option = new Option(form.flags, form.description)
    .conflicts([...(form.conflicts ?? [])])
    .hideHelp(form.hidden === true);
  if (form.choices !== undefined) return option.choices(form.choices);
  // A flag without a value has nothing to parse.
  return /[<[]/.test(form.flags) ? option.argParser<unknown>(optionValues[form.kind ?? "text"]) : option;
}

/** A word whose first blank comes before any `=` or `/`, so that it is no flag with a value: `--- title`, `- fix this`. */
const isText = (word: string) => /^-[^\s=/]*\s/.test(word);

/**
 * Replaces texts that begin with a dash, so that Commander does not take them for flags. Keeps flag values and words
 * after `--`.
 * @param mark the start of each replacement
 */
export function hideTexts(
  command: Command,
  argv: readonly string[],
  mark: string,
): { shown: string[]; original: (word: string) => string } {
  const isValue = (at: number) =>
    at > 0 &&
    command.options.some(({ short, long, required }) => required && [short, long].includes(argv[at - 1]));
  const end = argv.includes("--") ? argv.indexOf("--") : argv.length;
  const shown = argv.map((word, at) => (at < end && isText(word) && !isValue(at) ? `${mark}${at}` : word));
  return {
    shown,
    original: (word) => (word.startsWith(mark) ? argv[Number(word.slice(mark.length))]! : word),
  };
}

export function parseArguments(command: Command, argv: readonly string[]): void {
  try {
    command.parse(argv, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) throw valueError(command, error) ?? usageError(error);
    throw error;
  }
}

/** `--quiet=yes`: the flag is known, but it takes no value. */
function valueError(command: Command, cause: CommanderError): BonsaiError | undefined {
  const [, flag] = /unknown option '(--[^=']+)=/.exec(cause.message) ?? [];
  if (!command.options.some(({ long }) => long === flag)) return undefined;
  return wrongUsage(`The flag ${flag} takes no value.`, `Write ${flag} alone.`, cause);
}

/** @param form the command; without one, the error is of a prompt's flags */
export function usageError(error: CommanderError, form?: CommandGrammar): BonsaiError {
  const message = sentence(plainly(error.message.replace(/^error: /, "")));
  // A prompt can begin with the name of a command.
  const hint =
    error.code === "commander.excessArguments"
      ? " To send these words to the model, run `bonsai -p WORDS`."
      : error.code === "commander.unknownOption"
        ? afterDashes(form)
        : "";
  const [, flag = ""] = /unknown option '(-[^'=]+)/.exec(error.message) ?? [];
  const instead = form === undefined ? insteadOfFlag(flag) : undefined;
  if (instead !== undefined) return wrongUsage(`The flag ${flag} is not one of Bonsai's.`, instead, error);
  const help = form === undefined ? "bonsai help flags" : `bonsai ${form.name} --help`;
  return wrongUsage(message, `Run \`${help}\` for the usage.${hint}`, error);
}

function afterDashes(form: CommandGrammar | undefined): string {
  if (form === undefined) return " If it begins your prompt, write `bonsai -p -- PROMPT`.";
  return form.args.length === 0 ? "" : " If it is not a flag, write `--` before it.";
}

/** Commander's longer texts about values, in plain words. */
function plainly(text: string): string {
  return text
    .replace(
      /^option '(?:-\w, )?(--[\w-]+)[^']*' argument '(.*?)' is invalid\./s,
      "Invalid value '$2' for $1.",
    )
    .replace(/^option '(?:-\w, )?(--[\w-]+)[^']*' argument missing/, "The flag $1 needs a value")
    .replace(
      /^command-argument value '(.*?)' is invalid for argument '(.*?)'\./s,
      "Invalid value '$1' for $2.",
    );
}

/** "error: unknown option '--jso'\n(Did you mean --json?)" as sentences. */
function sentence(text: string): string {
  const [first = "", ...rest] = text.split("\n").map((line) => line.replace(/^\((.*)\)$/, "$1"));
  return [`${first.charAt(0).toUpperCase()}${first.slice(1)}${/[.?]$/.test(first) ? "" : "."}`, ...rest].join(
    " ",
  );
}

/** Parsers for the values of flags. */
const optionValues: Readonly<
  Record<NonNullable<OptionGrammar["kind"]> | "text", (value: string, before: unknown) => unknown>
> = {
  tokens,
  count,
  text: notBlank,
  "text or nothing": (value) => value,
  list: (value, before) => [...((before ?? []) as readonly string[]), notBlank(value)],
};

export function notEmpty(value: string): string {
  if (value === "") throw new InvalidArgumentError("It must not be empty.");
  return value;
}

function notBlank(value: string): string {
  notEmpty(value.trim());
  return value;
}

const factors = new Map([
  ["", 1],
  ["k", 1000],
  ["m", 1_000_000],
]);

function tokens(value: string): number {
  const match = /^(\d+)([km]?)$/i.exec(value.replaceAll(/[_,]/g, ""));
  if (match === null)
    throw new InvalidArgumentError("It must be a whole number of tokens, like 20000 or 20k.");
  const number = Number(match[1]) * factors.get(match[2]!.toLowerCase())!;
  if (!Number.isSafeInteger(number)) throw new InvalidArgumentError("It is larger than any context.");
  return number;
}

function count(value: string): number {
  const number = /^\d+$/.test(value) ? Number(value) : 0;
  if (number < 1) throw new InvalidArgumentError("It must be a whole number of at least 1, like 20.");
  return number;
}
