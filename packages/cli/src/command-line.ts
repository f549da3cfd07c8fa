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
 * Reads the command line of an agent's call.
 * @throws BonsaiError `wrong_usage`.
 */
export function agentCall(argv: readonly string[], io: CliIo): AgentCall {
  const command = new Command("bonsai").argument("[prompt...]").option("--json").helpOption(false);
  settle(command, io);
  for (const option of agentFlags) command.addOption(optionOf(option));
  try {
    command.parse(argv, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) throw usageError(error, []);
    throw error;
  }
  const { json, ...options } = command.opts();
  const mode = json === true ? "json" : (options.mode ?? "text");
  const output = new Output(io, mode !== "text", options.quiet === true);
  return { words: command.args, options: { ...options, mode }, io, output };
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
