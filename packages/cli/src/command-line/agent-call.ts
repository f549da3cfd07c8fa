import { existsSync } from "node:fs";
import { Command, InvalidArgumentError, Option } from "commander";
import type { AgentCall, ExtensionFlag, ExtensionFlags, FlaggedCall } from "../call/invocation.ts";
import type { CliIo } from "../call/io.ts";
import { Output } from "../call/output.ts";
import { absolutePath } from "../call/paths.ts";
import { agentFlags } from "../grammar/flags.ts";
import { bonsaiVersion } from "../version.ts";
import { configureCommand, hideTexts, optionOf, parseArguments } from "./commander.ts";
import { withoutShortFlags } from "./pi-words.ts";

/**
 * Reads the command line of an agent's call. What it does not know may be a flag of an extension: then the words are
 * preliminary until `withFlags` has read them again.
 * @throws BonsaiError `wrong_usage`.
 */
export function agentCall(words: readonly string[], io: CliIo): AgentCall {
  const argv = withoutShortFlags(words);
  const command = agentCommand(io);
  const { prompt, unknownFlags } = readWords(command, argv);
  const { json, ...given } = command.opts();
  // A flag with --no that was not given is true; what nobody said is no option.
  const said = Object.keys(given).filter((name) => command.getOptionValueSource(name) !== "default");
  const others = Object.fromEntries(said.map((name) => [name, given[name]]));
  const mode = json === true ? "json" : (others.mode ?? "text");
  const options = { ...canonical(others, io), mode };
  const output = new Output(io, mode !== "text", others.quiet === true);
  return {
    words: prompt,
    options,
    io,
    output,
    unknownFlags,
    argv,
    version: bonsaiVersion(),
    withFlags(flags) {
      return withFlags(this, flags);
    },
  };
}

type Options = AgentCall["options"];

/** Replaces the flags that stand for others: `--bare`, `--fork SESSION:ENTRY`. */
function canonical(given: Options, io: CliIo): Options {
  const { bare, ...options } = given;
  return {
    ...options,
    ...(bare === true && nothingLoaded),
    ...forkParts(options, io),
  };
}

const nothingLoaded = {
  extensions: false,
  skills: false,
  promptTemplates: false,
  themes: false,
  contextFiles: false,
};

/** The name of a file may have a colon too. */
function forkParts({ fork, leaf }: Options, io: CliIo): Options {
  if (typeof fork !== "string" || leaf !== undefined || existsSync(absolutePath(fork, io.cwd))) return {};
  const [, session, entry] = /^(.+):([^:/\\]+)$/.exec(fork) ?? [];
  return entry === undefined ? {} : { fork: session, leaf: entry };
}

function withFlags(call: AgentCall, flags: ExtensionFlags): FlaggedCall {
  const command = agentCommand(call.io);
  const taken = [...flags.keys()].filter((name) => isBuiltinFlag(command, name));
  if (call.unknownFlags.length === 0) return { call, values: new Map(), taken };
  const added = addExtensionOptions(command, flags);
  const { prompt, unknownFlags } = readWords(command, call.argv);
  if (unknownFlags.length > 0) {
    const strict = agentCommand(call.io);
    addExtensionOptions(strict, flags);
    parseArguments(strict, unknownFlags);
  }
  const given = command.opts();
  const values = new Map<string, boolean | string>();
  for (const [name, option] of added) {
    if (command.getOptionValueSource(option.attributeName()) !== "cli") continue;
    const value = given[option.attributeName()];
    values.set(name, option.negate ? value === false : value);
  }
  return { call: { ...call, words: prompt, unknownFlags: [] }, values, taken };
}

/** Adds the flags of extensions to a command, except for flags that it already has. */
function addExtensionOptions(command: Command, flags: ExtensionFlags): ReadonlyMap<string, Option> {
  const own = [...flags].filter(([name]) => !isBuiltinFlag(command, name));
  return new Map(own.map(([name, flag]) => [name, addedOption(command, name, flag)]));
}

function addedOption(command: Command, name: string, { type, description }: ExtensionFlag): Option {
  const option = new Option(`--${name}${type === "string" ? " <value>" : ""}`, description);
  // Without a value, the next flag must not become the value.
  const notAFlag = (value: string) => {
    if (!command.options.some(({ short, long }) => value === short || value === long)) return value;
    throw new InvalidArgumentError(`${value} is a flag. To use it as the value, write --${name}=${value}.`);
  };
  if (type === "string") option.argParser(notAFlag);
  command.addOption(option);
  return option;
}

function isBuiltinFlag(command: Command, name: string): boolean {
  return command.options.some(({ long }) => long === `--${name}`);
}

function agentCommand(io: CliIo): Command {
  const command = new Command("bonsai").argument("[prompt...]").option("--json");
  configureCommand(command, io);
  command.helpOption(false);
  for (const option of agentFlags) command.addOption(optionOf(option));
  return command;
}

/** Separates prompt words from unknown flags. Words after `--` and words with a blank belong to the prompt. */
function readWords(
  command: Command,
  argv: readonly string[],
): { prompt: readonly string[]; unknownFlags: readonly string[] } {
  // Replace each with a flag that a user cannot type: Commander keeps unknown flags in order.
  const { shown, original } = hideTexts(command, argv, "-\0");
  parseArguments(command.allowUnknownOption(), shown);
  const after = argv.includes("--") ? argv.length - argv.indexOf("--") - 1 : 0;
  const mayBeFlags = command.args.slice(0, command.args.length - after);
  return {
    prompt: command.args.map(original),
    unknownFlags: mayBeFlags.filter((word) => /^-[^\0]/.test(word) && word !== "--"),
  };
}
