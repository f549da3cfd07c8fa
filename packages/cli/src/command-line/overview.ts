import { ExitCode } from "../call/invocation.ts";
import type { CliIo } from "../call/io.ts";
import { Output } from "../call/output.ts";
import { type CommandGroup, type OptionGrammar, sections } from "../grammar/command-grammar.ts";
import { agentFlags } from "../grammar/flags.ts";
import { commandGroups, grammar } from "../grammar/grammar.ts";
import { type Line, paragraph, span } from "../views/line.ts";
import { wrap } from "../views/terminal-text.ts";
import { commandsOf } from "./command-words.ts";

export function printOverview(io: CliIo): ExitCode {
  const output = new Output(io, false);
  output.lines(overview(output.width));
  return ExitCode.done;
}

export function printFlags(io: CliIo): ExitCode {
  const output = new Output(io, false);
  const flags = [...agentFlags.filter(({ hidden }) => hidden !== true), ...processFlags];
  output.lines([
    [span("Flags of `bonsai [prompt…]`", "bold")],
    ...flagRows(flags, output.width),
    [],
    ...paragraph(EXTENSION_FLAGS, output.width),
  ]);
  return ExitCode.done;
}

const EXTENSION_FLAGS = "Extensions can add flags. Their documentation lists them.";

/** Flags that print something and exit. */
const processFlags: readonly OptionGrammar[] = [
  { flags: "-h, --help", description: "show the help" },
  { flags: "-V, --version", description: "show the version" },
];

export function printGroup(group: CommandGroup, io: CliIo): ExitCode {
  const output = new Output(io, false);
  const { width } = output;
  const commands = commandsOf(group).map(({ name, summary }) => [name.split(" ")[1]!, summary] as const);
  output.lines([
    [span(`bonsai ${group.name}`, ["bold", "green"])],
    ...paragraph(`${group.summary}.`, width),
    [],
    ...commands.flatMap(([name, summary]) => rowLines(name, summary, GROUP_COLUMNS, width)),
    [],
    ...paragraph(`\`bonsai ${group.name} COMMAND --help\` shows flags and examples.`, width),
  ]);
  return ExitCode.done;
}

const ABOUT = "A coding agent that compacts its own context. Sessions are trees; nothing is lost.";
const START = [
  ["bonsai", "Work in this folder"],
  ['bonsai "fix the failing test"', "Start with a task"],
  ['bonsai -p "explain @README.md"', "Print one answer; reads piped input too"],
] as const;
const KEYS =
  "To use a model, set a key like ANTHROPIC_API_KEY or OPENAI_API_KEY, run `bonsai login`, or start a local server " +
  "like Ollama. Commands on sessions need no key.";
const MORE = "All flags: `bonsai help flags`. A command's flags: `bonsai COMMAND --help`.";

/** The flags that `bonsai --help` shows. */
const MAIN_FLAGS = /--(print|mode|continue|resume|model|tools|extension|quiet)( |$)/;

export function overview(width: number): Line[] {
  const commands = [...commandGroups, ...grammar];
  return [
    [span("bonsai", ["bold", "green"])],
    ...paragraph(ABOUT, width),
    [],
    ...rows(START, width),
    [],
    ...paragraph(KEYS, width),
    ...sections.flatMap((section) => [
      [],
      [span(section, "bold")],
      ...rows(
        commands
          .filter((command) => command.section === section)
          .map(({ examples, summary }) => [examples[0]![0], summary] as const),
        width,
      ),
    ]),
    [],
    [span("Flags", "bold")],
    ...flagRows(
      agentFlags.filter(({ flags }) => MAIN_FLAGS.test(flags)),
      width,
    ),
    [],
    ...paragraph(MORE, width),
  ];
}

/** Command lines with their effects, in two columns. */
function rows(texts: readonly (readonly [command: string, effect: string])[], width: number): Line[] {
  return texts.flatMap(([command, effect]) =>
    rowLines(command, effect, Math.min(COMMAND_COLUMNS, Math.floor(width / 2)), width),
  );
}

const COMMAND_COLUMNS = 34;
const GROUP_COLUMNS = 12;

function flagRows(flags: readonly OptionGrammar[], width: number): Line[] {
  return rows(
    flags.map(({ flags, description }) => [flags, description] as const),
    width,
  );
}

/** A name that is too long for its column gets its own line. */
function rowLines(name: string, summary: string, nameWidth: number, width: number): Line[] {
  const shown = `  ${name}`;
  const fits = shown.length < nameWidth;
  const texts = wrap(summary, width - nameWidth);
  const rows = texts.map(
    (text, at): Line => [
      span(at === 0 && fits ? shown.padEnd(nameWidth) : " ".repeat(nameWidth), "cyan"),
      text,
    ],
  );
  return fits ? rows : [[span(shown, "cyan")], ...rows];
}
