import { existsSync } from "node:fs";
import type { CommandInfo } from "@bonsai-agent/extension";
import { BonsaiError } from "@bonsai-agent/messages";
import { nearestWord } from "../../nearest-word.ts";
import { slashCommands } from "../slash/slash-commands.ts";

/** Why a text that begins as a command does is not sent; undefined for any other text, a path for instance. */
export function unknownCommand(text: string, ofExtensions: readonly CommandInfo[]): BonsaiError | undefined {
  const [, name] = /^\s*\/([a-z][\w:-]*)(?=\s|$)/i.exec(text) ?? [];
  if (name === undefined || existsSync(`/${name}`)) return undefined;
  const names = [...slashCommands, ...ofExtensions].map((command) => command.name);
  const meant = nearestWord(name.toLowerCase(), names);
  return new BonsaiError({
    code: "unknown_command",
    message: `There is no command /${name}.${meant === undefined ? "" : ` Did you mean /${meant}?`}`,
    hint: "/help lists the commands. A text for the model begins with another character.",
  });
}
