import { ExitCode, type ExtensionFlags } from "@bonsai-agent/app/invocation";
import type { CliIo } from "@bonsai-agent/app/io";
import { Output } from "@bonsai-agent/app/output";
import { Argument, Command, CommanderError } from "commander";
import { addedOptions, givenFlags, notEmpty, optionOf, parsed, settle, usageError } from "./commander.ts";
import { wrongUsage } from "./failure.ts";
import { type CommandGrammar, grammar } from "./grammar.ts";

/** Reads a command line by the grammar and runs its command. Throws what the command throws. */
export async function runCommand(argv: readonly string[], io: CliIo): Promise<ExitCode> {
  try {
    return await runProgram(argv, io);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return ExitCode.done;
    // `bonsai --json` names nothing to do.
    if (error.code === "commander.help")
      throw wrongUsage("No command was given.", "`bonsai --help` lists the commands.", error);
    if (error.code !== "commander.unknownOption") throw usageError(error, argv);
    return runWithExtensionFlags(argv, io, error);
  }
}

/** What nobody knows may be a flag of an extension, which has to be loaded to be asked. */
async function runWithExtensionFlags(
  argv: readonly string[],
  io: CliIo,
  error: CommanderError,
): Promise<ExitCode> {
  const flags = await commandFlags(argv, io);
  if (flags.size === 0) throw usageError(error, argv);
  try {
    return await runProgram(argv, io, flags);
  } catch (again) {
    throw again instanceof CommanderError ? usageError(again, argv) : again;
  }
}

async function runProgram(
  argv: readonly string[],
  io: CliIo,
  flags: ExtensionFlags = new Map(),
): Promise<ExitCode> {
  let exitCode: ExitCode = ExitCode.done;
  const program = new Command("bonsai").option("--json", "print JSON");
  settle(program, io);
  const done = (code: ExitCode) => {
    exitCode = code;
  };
  for (const form of grammar) program.addCommand(commandOf({ form, io, done, flags }));
  await program.parseAsync(argv, { from: "user" });
  return exitCode;
}

/** The flags of the extensions that a line names for its command; which they are, only the extensions know. */
async function commandFlags(argv: readonly string[], io: CliIo): Promise<ExtensionFlags> {
  const name = argv.find((word) => grammar.some((form) => form.name === word));
  const form = grammar.find((each) => each.name === name);
  const taken = form?.options ?? [];
  if (name === undefined || !taken.some(({ flags }) => flags.startsWith("-e,"))) return new Map();
  const command = new Command(name).option("--json").allowUnknownOption();
  settle(command, io);
  command.allowExcessArguments();
  for (const option of taken) command.addOption(optionOf(option));
  parsed(command, argv.slice(argv.indexOf(name) + 1));
  const { flagsOfExtensions } = await import("./flags-of-extensions.ts");
  const canBeFound = taken.some(({ flags }) => flags === "--no-extensions");
  const options = { ...command.opts(), ...(canBeFound ? {} : { extensions: false }) };
  return new Map(await flagsOfExtensions({ options, io, output: new Output(io, false, true) }));
}

interface CommandParts {
  form: CommandGrammar;
  io: CliIo;
  done: (code: ExitCode) => void;
  /** Those of the extensions that the line names. */
  flags: ExtensionFlags;
}

function commandOf({ form, io, done, flags }: CommandParts): Command {
  const command = new Command(form.name).description(`${form.summary}.`);
  settle(command, io);
  for (const [syntax, description] of form.args) {
    command.addArgument(new Argument(syntax, description).argParser(notEmpty));
  }
  for (const option of form.options ?? []) command.addOption(optionOf(option));
  command.option("--json", "print JSON; an error is JSON on stderr");
  command.addHelpText("after", examples(form));
  const added = addedOptions(command, flags);
  return command.action(async () => {
    const options = command.optsWithGlobals();
    const run = await form.load();
    const output = new Output(io, options.json === true);
    const takesMany = form.args.some(([syntax]) => syntax.includes("..."));
    const args = takesMany
      ? command.args
      : form.args.map((_, at) => command.processedArgs[at] as string | undefined);
    const extensionFlags = givenFlags(command, added);
    done((await run({ args, options, io, output, extensionFlags })) ?? ExitCode.done);
  });
}

function examples(form: CommandGrammar): string {
  const lines = form.examples.map(([command, effect]) => `  # ${effect}\n  ${command}`);
  return `\nExamples:\n${lines.join("\n\n")}`;
}
