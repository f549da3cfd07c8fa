import { BonsaiError } from "@bonsai-agent/messages";
import { Argument, Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { ExitCode } from "./exit-code.ts";
import { grammar } from "./grammar.ts";
import type { CommandGrammar, OptionGrammar } from "./invocation.ts";
import type { CliIo } from "./io.ts";
import { Output } from "./output.ts";

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
    throw usageError(error, argv);
  }
  return exitCode;
}

function commandOf(form: CommandGrammar, io: CliIo, done: (code: ExitCode) => void): Command {
  const command = new Command(form.name).description(`${form.summary}.`);
  settle(command, io);
  for (const [syntax, description] of form.args) command.addArgument(new Argument(syntax, description));
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
  return form.kind === undefined ? option : option.argParser(form.kind === "tokens" ? tokens : wholeNumber);
}

function tokens(value: string): number {
  const match = /^(\d+)([kKmM]?)$/.exec(value.replaceAll(/[_,]/g, ""));
  if (match === null)
    throw new InvalidArgumentError("It must be a whole number of tokens, like 20000 or 20k.");
  return Number(match[1]) * ({ "": 1, k: 1000, m: 1_000_000 }[match[2]!.toLowerCase()] ?? 1);
}

function wholeNumber(value: string): number {
  if (!/^\d+$/.test(value)) throw new InvalidArgumentError("It must be a whole number, like 20.");
  return Number(value);
}

function examples(form: CommandGrammar): string {
  const lines = form.examples.map(([command, effect]) => `  # ${effect}\n  ${command}`);
  return `\nExamples:\n${lines.join("\n\n")}`;
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

/** "error: unknown option '--jso'\n(Did you mean --json?)" as sentences. */
function sentence(text: string): string {
  const [first = "", ...rest] = text.split("\n").map((line) => line.replace(/^\((.*)\)$/, "$1"));
  return [`${first.charAt(0).toUpperCase()}${first.slice(1)}${/[.?]$/.test(first) ? "" : "."}`, ...rest].join(
    " ",
  );
}
