import type { ExtensionFlag, ExtensionFlags } from "@bonsai-agent/app/invocation";
import type { CliIo } from "@bonsai-agent/app/io";
import { Output } from "@bonsai-agent/app/output";
import { BonsaiError } from "@bonsai-agent/messages";
import { type Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { wrongUsage } from "./failure.ts";
import { grammar, type OptionGrammar } from "./grammar.ts";

/** No exits and no prints behind our back. */
export function settle(command: Command, io: CliIo): void {
  command.exitOverride().allowExcessArguments(false).helpCommand(false);
  command.configureHelp({ minWidthToWrap: 12 });
  command.configureOutput({
    writeOut: (text) => io.stdout.write(text),
    writeErr: () => {},
    getOutHelpWidth: () => new Output(io, false).width,
    getOutHasColors: () => false,
  });
}

export function optionOf(form: OptionGrammar): Option {
  const option = new Option(form.flags, form.description).conflicts([...(form.conflicts ?? [])]);
  if (form.choices !== undefined) return option.choices(form.choices);
  // A flag without a value has nothing to parse.
  return /[<[]/.test(form.flags) ? option.argParser<unknown>(optionValues[form.kind ?? "text"]) : option;
}

export function isOurs(command: Command, name: string): boolean {
  return command.options.some(({ long }) => long === `--${name}`);
}

/** Flags of extensions among those of a command; those that it has itself are left out. */
export function addedOptions(command: Command, flags: ExtensionFlags): ReadonlyMap<string, Option> {
  const own = [...flags].filter(([name]) => !isOurs(command, name));
  return new Map(own.map(([name, flag]) => [name, addedOption(command, name, flag)]));
}

/** Their values on the command line, by name. */
export function givenFlags(
  command: Command,
  added: ReadonlyMap<string, Option>,
): ReadonlyMap<string, boolean | string> {
  const given = command.opts();
  const values = [...added].flatMap(([name, option]) => {
    if (command.getOptionValueSource(option.attributeName()) !== "cli") return [];
    const value = given[option.attributeName()];
    return [[name, option.negate ? value === false : value] as const];
  });
  return new Map(values);
}

function addedOption(command: Command, name: string, { type, description }: ExtensionFlag): Option {
  const option = new Option(`--${name}${type === "string" ? " <value>" : ""}`, description);
  // A value that was forgotten: the next flag is none.
  const notAFlag = (value: string) => {
    if (!command.options.some(({ short, long }) => value === short || value === long)) return value;
    throw new InvalidArgumentError(
      `That is a flag; write --${name}=${value} where it is meant as the value.`,
    );
  };
  if (type === "string") option.argParser(notAFlag);
  command.addOption(option);
  return option;
}

export function parsed(command: Command, argv: readonly string[]): void {
  try {
    command.parse(argv, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) throw valueError(command, error) ?? usageError(error, []);
    throw error;
  }
}

/** `--quiet=yes`: the flag is known, its value is not wanted. */
function valueError(command: Command, cause: CommanderError): BonsaiError | undefined {
  const [, flag] = /unknown option '(--[^=']+)=/.exec(cause.message) ?? [];
  if (!command.options.some(({ long }) => long === flag)) return undefined;
  return wrongUsage(`The flag ${flag} takes no value.`, `Write ${flag} alone, or leave it out.`, cause);
}

export function usageError(error: CommanderError, argv: readonly string[]): BonsaiError {
  const message = sentence(error.message.replace(/^error: /, ""));
  if (error.code === "commander.unknownCommand") {
    return new BonsaiError({
      code: "unknown_command",
      message,
      hint: "`bonsai --help` lists the commands.",
      cause: error,
    });
  }
  const command = grammar.find((form) => argv.includes(form.name))?.name;
  // A prompt can begin with the name of a command.
  const hint =
    error.code === "commander.excessArguments"
      ? " `bonsai -p WORDS` sends words to the model, whatever they are."
      : "";
  const help = `\`bonsai ${command === undefined ? "" : `${command} `}--help\` says what is possible.`;
  return wrongUsage(message, `${help}${hint}`, error);
}

/** "error: unknown option '--jso'\n(Did you mean --json?)" as sentences. */
function sentence(text: string): string {
  const [first = "", ...rest] = text.split("\n").map((line) => line.replace(/^\((.*)\)$/, "$1"));
  return [`${first.charAt(0).toUpperCase()}${first.slice(1)}${/[.?]$/.test(first) ? "" : "."}`, ...rest].join(
    " ",
  );
}

/** How the value of a flag is read from the command line. */
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
  if (!Number.isSafeInteger(number)) throw new InvalidArgumentError("No context is as large as that.");
  return number;
}

function count(value: string): number {
  const number = /^\d+$/.test(value) ? Number(value) : 0;
  if (number < 1) throw new InvalidArgumentError("It must be a whole number from 1 on, like 20.");
  return number;
}
