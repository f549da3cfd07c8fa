import { slashCommands } from "../../packages/cli/src/interactive/slash/slash-commands.ts";
import { actionNames, actions, shownKey } from "../../packages/cli/src/interactive/terminal/keys.ts";
import { code, page, prose, sentence, table } from "./markdown.ts";

/** Slash commands and keys of the interactive mode, in the order of /help. */
export function terminalPage(): string {
  const commands = slashCommands
    .filter((command) => (command as { hidden?: boolean }).hidden !== true)
    .map(({ name, argumentHint = "", description, worksWhileBusy }) => [
      code(`/${name} ${argumentHint}`.trim()),
      prose(sentence(description)),
      worksWhileBusy === true ? "yes" : "",
    ]);
  const keys = actionNames.map((name) => {
    const { keys: bound, description } = actions[name];
    return [code(name), bound.map(shownKey).map(code).join(", ") || "none", prose(sentence(description))];
  });
  return page("Slash commands and keys", "`/help` shows both in the terminal.", [
    `## Slash commands\n\n${table(["command", "", "works while the agent works"], commands)}`,
    "## Keys",
    '`~/.bonsai/keybindings.json` changes keys by action, for example `{ "copy": ["ctrl+y"] }`.',
    table(["action", "default keys", ""], keys),
  ]);
}
