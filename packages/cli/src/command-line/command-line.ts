import { BonsaiError } from "@bonsai-agent/messages";
import { Argument, Command, CommanderError } from "commander";
import { wrongUsage } from "../call/failure.ts";
import { ExitCode, type ExtensionFlags } from "../call/invocation.ts";
import type { CliIo } from "../call/io.ts";
import { Output } from "../call/output.ts";
import type { CommandGrammar, CommandGroup } from "../grammar/command-grammar.ts";
import { type FoundCommand, findCommand, findGroup, nearestInGroup } from "./command-words.ts";
import {
  addExtensionOptions,
  configureCommand,
  extensionFlagValues,
  hideTexts,
  notEmpty,
  optionOf,
  parseArguments,
  usageError,
} from "./commander.ts";
import { printGroup } from "./overview.ts";

/** Parses a command line by the grammar and runs its command. Throws the errors of the command. */
export async function runCommand(argv: readonly string[], io: CliIo): Promise<ExitCode> {
  // `bonsai --json session tree` and `bonsai session --json tree`.
  const words = argv.filter((word, at) => word !== "--json" || at > 1);
  const isJson = words.length < argv.length;
  const found = findCommand(words);
  if (found !== undefined) return runFound(found, { io, isJson });
  const group = findGroup(words[0]);
  if (group !== undefined) return runGroup(group, { words: words.slice(1), io, isJson });
  throw wrongUsage("No command was given.", "Run `bonsai --help` to list the commands.");
}

/** `bonsai session` prints the commands of the group. */
function runGroup(
  group: CommandGroup,
  { words, io, isJson }: { words: readonly string[]; io: CliIo; isJson: boolean },
): ExitCode {
  const [word] = words.filter((each) => !["--help", "-h", "help"].includes(each));
  if (word === undefined && !(isJson && words.length === 0)) return printGroup(group, io);
  const help = `Run \`bonsai ${group.name}\` to list its commands.`;
  if (word === undefined) throw wrongUsage(`\`bonsai ${group.name}\` needs a command.`, help);
  const nearest = nearestInGroup(group, word);
  throw new BonsaiError({
    code: "unknown_command",
    message: `Unknown command '${group.name} ${word}'.${nearest === undefined ? "" : ` Did you mean ${nearest}?`}`,
    hint: `${help} To send these words to the model, run \`bonsai -p WORDS\`.`,
  });
}

async function runFound(
  { form, rest }: FoundCommand,
  { io, isJson }: { io: CliIo; isJson: boolean },
): Promise<ExitCode> {
  const argv = isJson ? ["--json", ...rest] : rest;
  try {
    return await runParsed(form, { argv, io });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return ExitCode.done;
    if (error.code !== "commander.unknownOption") throw usageError(error, form);
    return runWithExtensionFlags({ form, argv, io, error });
  }
}

interface FailedLine {
  form: CommandGrammar;
  argv: readonly string[];
  io: CliIo;
  error: CommanderError;
}

/** An unknown flag may belong to an extension. Loads the extensions and parses the line again. */
async function runWithExtensionFlags({ form, argv, io, error }: FailedLine): Promise<ExitCode> {
  const flags = await commandFlags(form, argv, io);
  if (flags.size === 0) throw usageError(error, form);
  try {
    return await runParsed(form, { argv, io, flags });
  } catch (again) {
    throw again instanceof CommanderError ? usageError(again, form) : again;
  }
}

interface CommandParts {
  argv: readonly string[];
  io: CliIo;
  /** The flags of the extensions that the line names. */
  flags?: ExtensionFlags;
}

async function runParsed(
  form: CommandGrammar,
  { argv, io, flags = new Map() }: CommandParts,
): Promise<ExitCode> {
  let exitCode: ExitCode = ExitCode.done;
  const command = new Command(`bonsai ${form.name}`).description(`${form.summary}.`);
  configureCommand(command, io);
  for (const [syntax, description] of form.args) {
    command.addArgument(new Argument(syntax, description).argParser(notEmpty));
  }
  for (const option of form.options ?? []) command.addOption(optionOf(option));
  command.option("--json", "print JSON; errors are JSON on stderr");
  command.addHelpText("after", examplesText(form));
  const added = addExtensionOptions(command, flags);
  const { shown, original } = hideTexts(command, argv, "\0");
  command.action(async () => {
    const options = command.opts();
    const run = await form.load();
    const output = new Output(io, options.json === true);
    const takesMany = form.args.some(([syntax]) => syntax.includes("..."));
    const args = takesMany
      ? command.args.map(original)
      : form.args.map((_, at) => {
          const word = command.processedArgs[at] as string | undefined;
          return word && original(word);
        });
    const extensionFlags = extensionFlagValues(command, added);
    exitCode = (await run({ args, options, io, output, extensionFlags })) ?? ExitCode.done;
  });
  await command.parseAsync(shown, { from: "user" });
  return exitCode;
}

/** The flags that the extensions of a command line register. */
async function commandFlags(
  form: CommandGrammar,
  argv: readonly string[],
  io: CliIo,
): Promise<ExtensionFlags> {
  const options = form.options ?? [];
  if (!options.some(({ flags }) => flags.startsWith("-e,"))) return new Map();
  const command = new Command(form.name).option("--json").allowUnknownOption();
  configureCommand(command, io);
  command.allowExcessArguments();
  for (const option of options) command.addOption(optionOf(option));
  parseArguments(command, argv);
  const { flagsOfExtensions } = await import("./flags-of-extensions.ts");
  const canBeFound = options.some(({ flags }) => flags === "--no-extensions");
  const given = { ...command.opts(), ...(canBeFound ? {} : { extensions: false }) };
  return new Map(await flagsOfExtensions({ options: given, io, output: new Output(io, false, true) }));
}

function examplesText(form: CommandGrammar): string {
  const lines = form.examples.map(([command, effect]) => `  # ${effect}\n  ${command}`);
  return `\nExamples:\n${lines.join("\n\n")}`;
}
