import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ExitCode } from "@bonsai-agent/app/invocation";
import type { CliIo } from "@bonsai-agent/app/io";
import { type Line, paragraph, span } from "@bonsai-agent/app/line";
import { largest } from "@bonsai-agent/app/numbers";
import { Output } from "@bonsai-agent/app/output";
import { printable, wrap } from "@bonsai-agent/app/terminal-text";
import { bonsaiHome } from "@bonsai-agent/session";
import { agentFlags, grammar } from "./grammar.ts";

/** What `bonsai` says when it is called without a command; with the flags of the extensions that a call would load. */
export async function printOverview(io: CliIo, argv: readonly string[] = []): Promise<ExitCode> {
  const flags = mayBringFlags(argv, io)
    ? await (await import("./flags-of-extensions.ts")).foundFlags(argv, io)
    : [];
  const output = new Output(io, false);
  output.lines(overview(output.width, flags));
  return ExitCode.done;
}

const about =
  "Sessions of coding agents that never outgrow their model: a session is a tree, kept whole on disk; " +
  "what the model sees is a small, pruned shape of it.";
const work =
  '`bonsai` opens a screen to work in, in this folder; `bonsai -p "PROMPT"` does the work and prints the answer. Both ' +
  "need a key, like ANTHROPIC_API_KEY or OPENAI_API_KEY, or a local server, like Ollama. A file is named as @path; what " +
  "is piped in belongs to the prompt. " +
  "The commands work without any key, on sessions of Bonsai and pi and on imported transcripts of other agents.";

/** A flag that an extension brings. */
type AddedFlag = readonly [name: string, flag: { type: "boolean" | "string"; description?: string }];

/** What `bonsai` says when it is called without a command. */
export function overview(width: number, added: readonly AddedFlag[] = []): Line[] {
  const proseWidth = Math.min(width, 90);
  const nameWidth = largest(grammar.map((command) => command.name.length)) + 4;
  const flagWidth = Math.min(largest(agentFlags.map(({ flags }) => flags.length)) + 4, Math.floor(width / 2));
  return [
    [span("bonsai", ["bold", "green"])],
    ...paragraph(about, proseWidth),
    [],
    ...paragraph(work, proseWidth),
    [],
    [span("Flags of a prompt", "bold")],
    ...agentFlags.flatMap(({ flags, description }) => rowLines(flags, description, flagWidth, width)),
    ...addedLines(added, flagWidth, width),
    [],
    [span("Commands", "bold")],
    ...grammar.flatMap((command) => rowLines(command.name, command.summary, nameWidth, width)),
    [],
    [span("Try", "bold")],
    ["  bonsai"],
    ['  bonsai -p "why does the build fail?"'],
    ["  bonsai sessions"],
    ["  bonsai show FILE"],
    ["  bonsai compact FILE --dry-run"],
    [],
    ...paragraph("`bonsai COMMAND --help` says more, with examples. Each command takes --json.", proseWidth),
  ];
}

function addedLines(added: readonly AddedFlag[], flagWidth: number, width: number): Line[] {
  if (added.length === 0) return [];
  return [
    [],
    [span("Flags of extensions", "bold")],
    ...added.flatMap(([name, { type, description = "" }]) =>
      rowLines(
        printable(`--${name}${type === "string" ? " <value>" : ""}`),
        printable(description),
        flagWidth,
        width,
      ),
    ),
  ];
}

/** A name too long for its column has a line of its own. */
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

/**
 * False where no extension can be found quickly: help is to be there at once, and what finds them takes longer to
 * load than all the rest of it.
 */
function mayBringFlags(argv: readonly string[], io: CliIo): boolean {
  if (argv.some((word) => /^(-e|--extension)/.test(word))) return true;
  return foldersOf(io).some(
    (folder) =>
      existsSync(join(folder, "extensions")) ||
      existsSync(join(folder, "packages")) ||
      namesExtensions(join(folder, "settings.json")),
  );
}

function foldersOf(io: CliIo): readonly string[] {
  const home = bonsaiHome(io.env);
  try {
    return [home, join(io.cwd, ".bonsai")];
  } catch {
    // Help comes also in a folder that is gone.
    return [home];
  }
}

function namesExtensions(settings: string): boolean {
  try {
    return existsSync(settings) && readFileSync(settings, "utf8").includes('"extensions"');
  } catch {
    // Whoever reads it for its settings says why it cannot be read.
    return true;
  }
}
