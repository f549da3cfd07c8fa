import { BonsaiError } from "@bonsai-agent/messages";
import { Argument, Command, CommanderError } from "commander";
import { wrongUsage } from "../call/failure.ts";
import { ExitCode } from "../call/invocation.ts";
import type { CliIo } from "../call/io.ts";
import { Output } from "../call/output.ts";
import type { CommandGrammar, CommandGroup } from "../grammar/command-grammar.ts";
import { type FoundCommand, findCommand, findGroup, nearestInGroup } from "./command-words.ts";
import { configureCommand, hideTexts, notEmpty, optionOf, usageError } from "./commander.ts";
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
  let exitCode: ExitCode = ExitCode.done;
  const command = new Command(`bonsai ${form.name}`).description(`${form.summary}.`);
  configureCommand(command, io);
  for (const [syntax, description] of form.args) {
    command.addArgument(new Argument(syntax, description).argParser(notEmpty));
  }
  for (const option of form.options ?? []) command.addOption(optionOf(option));
  command.option("--json", "print JSON; errors are JSON on stderr");
  command.addHelpText("after", examplesText(form));
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
    exitCode = (await run({ args, options, io, output })) ?? ExitCode.done;
  });
  try {
    await command.parseAsync(shown, { from: "user" });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return ExitCode.done;
    throw usageError(error, form);
  }
}

function examplesText(form: CommandGrammar): string {
  const lines = form.examples.map(([command, effect]) => `  # ${effect}\n  ${command}`);
  return `\nExamples:\n${lines.join("\n\n")}`;
}
