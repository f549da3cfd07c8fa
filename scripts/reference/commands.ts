import type { CommandGrammar, OptionGrammar } from "../../packages/cli/src/grammar/command-grammar.ts";
import { agentFlags } from "../../packages/cli/src/grammar/flags.ts";
import { grammar } from "../../packages/cli/src/grammar/grammar.ts";
import { code, page, prose, sentence, table } from "./markdown.ts";

/** The commands and flags of `bonsai`, as its own help has them. */
export function commandsPage(): string {
  return page(
    "Commands and flags",
    "`bonsai [flags] [prompt…]` starts a session; `bonsai COMMAND --help` shows one command.",
    [
      `## Flags of a prompt\n\n${flagTable(agentFlags)}`,
      ...grammar.filter((command) => !isHidden(command)).map((command) => section(command, "##")),
    ],
  );
}

interface Nested {
  readonly commands?: readonly CommandGrammar[];
}

function section(command: CommandGrammar & Nested, heading: string, parents = ""): string {
  const name = `${parents}${command.name}`;
  const args = command.args.map(([syntax]) => ` ${syntax}`).join("");
  const described = command.args.map(([syntax, text]) => [code(syntax), prose(text)]);
  const options = (command.options ?? []).filter((option) => !isHidden(option));
  return [
    `${heading} ${name}`,
    sentence(command.summary),
    `\`\`\`text\nbonsai ${name}${options.length > 0 ? " [flags]" : ""}${args}\n\`\`\``,
    ...(described.length > 0 ? [table(["argument", ""], described)] : []),
    ...(options.length > 0 ? [flagTable(options)] : []),
    ...(command.examples.length > 0
      ? [
          table(
            ["example", ""],
            command.examples.map(([line, text]) => [code(line), text]),
          ),
        ]
      : []),
    ...(command.commands ?? [])
      .filter((each) => !isHidden(each))
      .map((each) => section(each, `${heading}#`, `${name} `)),
  ].join("\n\n");
}

function flagTable(options: readonly OptionGrammar[]): string {
  const rows = options
    .filter((option) => !isHidden(option))
    .map(({ flags, description }) => [code(flags), prose(description)]);
  return table(["flag", ""], rows);
}

function isHidden(part: object): boolean {
  return (part as { hidden?: boolean }).hidden === true;
}
