import type { CommandGrammar, OptionGrammar } from "../../packages/cli/src/grammar/command-grammar.ts";
import { agentFlags } from "../../packages/cli/src/grammar/flags.ts";
import { grammar } from "../../packages/cli/src/grammar/grammar.ts";
import { code, page, prose, sentence, table } from "./markdown.ts";

/** The commands and flags of `bonsai`, as its own help has them. */
export function commandsPage(): string {
  return page(
    "Commands and flags",
    "`bonsai [flags] [prompt…]` starts a session; `bonsai COMMAND --help` shows one command.",
    [`## Flags of a prompt\n\n${flagTable(shownFlags(agentFlags))}`, ...grammar.map(section)],
  );
}

function section(command: CommandGrammar): string {
  const args = command.args.map(([syntax]) => ` ${syntax}`).join("");
  const described = command.args.map(([syntax, text]) => [code(syntax), prose(text)]);
  const options = shownFlags(command.options ?? []);
  const examples = command.examples.map(([line, text]) => [code(line), text]);
  return [
    `## ${command.name}`,
    sentence(command.summary),
    `\`\`\`text\nbonsai ${command.name}${options.length > 0 ? " [flags]" : ""}${args}\n\`\`\``,
    ...(described.length > 0 ? [table(["argument", ""], described)] : []),
    ...(options.length > 0 ? [flagTable(options)] : []),
    ...(examples.length > 0 ? [table(["example", ""], examples)] : []),
  ].join("\n\n");
}

function flagTable(options: readonly OptionGrammar[]): string {
  const rows = options.map(({ flags, description }) => [code(flags), prose(description)]);
  return table(["flag", ""], rows);
}

function shownFlags(options: readonly OptionGrammar[]): OptionGrammar[] {
  return options.filter(({ hidden }) => hidden !== true);
}
