import { BonsaiError } from "@bonsai-agent/messages";
import { Argument, Command, CommanderError, Option } from "commander";
import { ExitCode } from "./exit-code.ts";
import { grammar } from "./grammar.ts";
import type { AgentCall, CommandGrammar, OptionGrammar } from "./invocation.ts";
import type { CliIo } from "./io.ts";
import { notEmpty, optionValues } from "./option-value.ts";
import { Output } from "./output.ts";
import { agentFlags } from "./work/agent-flags.ts";

/** Reads a command line by the grammar and runs its command. Throws what the command throws. */
export async function runCommand(argv: readonly string[], io: CliIo): Promise<ExitCode> {
  let exitCode: ExitCode = ExitCode.done;
  const program = new Command("bonsai").option("--json", "print JSON");
  settle(program, io);
  for (const command of grammar) {
    program.addCommand(
      commandOf(command, io, (code) => {
        exitCode = code;
      }),
    );
  }
  try {
    await program.parseAsync(argv, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return ExitCode.done;
    if (error.code === "commander.help") throw noCommand(error);
    throw usageError(error, argv);
  }
  return exitCode;
}

function commandOf(form: CommandGrammar, io: CliIo, done: (code: ExitCode) => void): Command {
  const command = new Command(form.name).description(`${form.summary}.`);
  settle(command, io);
  for (const [syntax, description] of form.args) {
    command.addArgument(new Argument(syntax, description).argParser(notEmpty));
  }
  for (const option of form.options ?? []) command.addOption(optionOf(option));
  command.option("--json", "print JSON; an error is JSON on stderr");
  command.addHelpText("after", examples(form));
  return command.action(async () => {
    const options = command.optsWithGlobals();
    const { run } = await form.load();
    const output = new Output(io, options.json === true);
    const args = form.args.map((_, at) => command.processedArgs[at] as string | undefined);
    done((await run({ args, options, io, output })) ?? ExitCode.done);
  });
}

/** No exits and no prints behind our back. */
function settle(command: Command, io: CliIo): void {
  command.exitOverride().allowExcessArguments(false).helpCommand(false);
  command.configureHelp({ minWidthToWrap: 12 });
  command.configureOutput({
    writeOut: (text) => io.stdout.write(text),
    writeErr: () => {},
    getOutHelpWidth: () => new Output(io, false).width,
    getOutHasColors: () => false,
  });
}

function optionOf(form: OptionGrammar): Option {
  const option = new Option(form.flags, form.description).conflicts([...(form.conflicts ?? [])]);
  if (form.choices !== undefined) return option.choices(form.choices);
  // A flag without a value has nothing to parse.
  return /[<[]/.test(form.flags) ? option.argParser<unknown>(optionValues[form.kind ?? "text"]) : option;
}

function examples(form: CommandGrammar): string {
  const lines = form.examples.map(([command, effect]) => `  # ${effect}\n  ${command}`);
  return `\nExamples:\n${lines.join("\n\n")}`;
}

/**
 * Reads the command line of an agent's call. What it does not know may be a flag of an extension: then the words are
 * preliminary until `withExtensionFlags` has read them again.
 * @throws BonsaiError `wrong_usage`.
 */
export function agentCall(argv: readonly string[], io: CliIo): AgentCall {
  const command = agentCommand(io).allowUnknownOption();
  parsed(command, argv);
  const unknownFlags = unknownFlagsOf(command, argv);
  const { json, extensions, ...others } = command.opts();
  const mode = json === true ? "json" : (others.mode ?? "text");
  const options = { ...others, mode, ...(extensions === false ? { extensions } : {}) };
  const output = new Output(io, mode !== "text", others.quiet === true);
  return { words: command.args, options, io, output, unknownFlags, argv };
}

/** What a call says once the flags of its extensions are known. */
export interface FlaggedCall {
  call: AgentCall;
  /** The extensions' flags that were given, by name. */
  values: ReadonlyMap<string, boolean | string>;
}

/**
 * Reads a call again, now with the flags of its extensions. A flag of ours that an extension has too stays ours.
 * @throws BonsaiError `wrong_usage` for a flag that nobody knows
 */
export function withExtensionFlags(call: AgentCall, flags: ReadonlyMap<string, ExtensionFlag>): FlaggedCall {
  if (call.unknownFlags.length === 0) return { call, values: new Map() };
  const command = agentCommand(call.io);
  const added = [...flags]
    .filter(([name]) => !isOurs(command, name))
    .map(([name, flag]) => ({ name, option: addedOption(command, name, flag) }));
  parsed(command, call.argv);
  const given = command.opts();
  const values = added.flatMap(({ name, option }) => {
    if (command.getOptionValueSource(option.attributeName()) !== "cli") return [];
    const value = given[option.attributeName()];
    return [[name, option.negate ? value === false : value] as const];
  });
  return { call: { ...call, words: command.args, unknownFlags: [] }, values: new Map(values) };
}

/** What is known of a flag that an extension registered. */
interface ExtensionFlag {
  type: "boolean" | "string";
  description?: string;
}

function agentCommand(io: CliIo): Command {
  const command = new Command("bonsai").argument("[prompt...]").option("--json").helpOption(false);
  settle(command, io);
  for (const option of agentFlags) command.addOption(optionOf(option));
  return command;
}

function isOurs(command: Command, name: string): boolean {
  return command.options.some(({ long }) => long === `--${name}`);
}

function addedOption(command: Command, name: string, { type, description }: ExtensionFlag): Option {
  const option = new Option(`--${name}${type === "string" ? " <value>" : ""}`, description);
  command.addOption(option);
  return option;
}

function parsed(command: Command, argv: readonly string[]): void {
  try {
    command.parse(argv, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) throw usageError(error, []);
    throw error;
  }
}

/** Words behind `--` are no flags. */
function unknownFlagsOf(command: Command, argv: readonly string[]): readonly string[] {
  const end = argv.indexOf("--");
  const behind = end === -1 ? 0 : argv.length - end - 1;
  return command.args
    .slice(0, command.args.length - behind)
    .filter((word) => /^-./.test(word) && word !== "--");
}

function usageError(error: CommanderError, argv: readonly string[]): BonsaiError {
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
  return new BonsaiError({
    code: "wrong_usage",
    message,
    hint: `\`bonsai ${command === undefined ? "" : `${command} `}--help\` says what is possible.`,
    cause: error,
  });
}

/** `bonsai --json` names nothing to do. */
function noCommand(cause: CommanderError): BonsaiError {
  return new BonsaiError({
    code: "wrong_usage",
    message: "No command was given.",
    hint: "`bonsai --help` lists the commands.",
    cause,
  });
}

/** "error: unknown option '--jso'\n(Did you mean --json?)" as sentences. */
function sentence(text: string): string {
  const [first = "", ...rest] = text.split("\n").map((line) => line.replace(/^\((.*)\)$/, "$1"));
  return [`${first.charAt(0).toUpperCase()}${first.slice(1)}${/[.?]$/.test(first) ? "" : "."}`, ...rest].join(
    " ",
  );
}
