import { grammar } from "../grammar.ts";
import { type Line, span } from "./line.ts";
import { largest } from "./numbers.ts";
import { wrap } from "./text-width.ts";

const about =
  "Sessions of coding agents that never outgrow their model: a session is a tree, kept whole on disk; " +
  "what the model sees is a small, pruned shape of it.";
const yet =
  "The agent itself (`bonsai [prompt]`) comes later. The commands below work today, without any key, " +
  "on sessions of Bonsai and pi and on imported transcripts of other agents.";

/** What `bonsai` says when it is called without a command. */
export function overview(width: number): Line[] {
  const nameWidth = largest(grammar.map((command) => command.name.length)) + 4;
  return [
    [span("bonsai", ["bold", "green"])],
    ...paragraph(about, width),
    [],
    ...paragraph(yet, width),
    [],
    [span("Commands", "bold")],
    ...grammar.flatMap((command) => commandLines(command.name, command.summary, nameWidth, width)),
    [],
    [span("Try", "bold")],
    ["  bonsai sessions"],
    ["  bonsai show FILE"],
    ["  bonsai compact FILE --dry-run"],
    [],
    ...paragraph("`bonsai COMMAND --help` says more, with examples. Each command takes --json.", width),
  ];
}

function commandLines(name: string, summary: string, nameWidth: number, width: number): Line[] {
  return wrap(summary, width - nameWidth).map((text, at) => [
    span(at === 0 ? `  ${name}`.padEnd(nameWidth) : " ".repeat(nameWidth), "cyan"),
    text,
  ]);
}

function paragraph(text: string, width: number): Line[] {
  return wrap(text, Math.min(width, 90)).map((line) => [line]);
}
