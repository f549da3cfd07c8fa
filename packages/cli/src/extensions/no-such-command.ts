import { existsSync } from "node:fs";
import type { AgentNotice } from "@bonsai-agent/agent";
import type { CommandInfo } from "@bonsai-agent/extension";
import { nearestWord } from "../nearest-word.ts";

/** What to tell of a text that looks like the command of an extension and is none: it goes to the model as it stands. */
export function noSuchCommand(text: string, commands: readonly CommandInfo[]): AgentNotice | undefined {
  const [, name] = /^\s*\/([a-z][\w:-]*)(?=\s|$)/i.exec(text) ?? [];
  // It may as well begin with a path.
  if (name === undefined || existsSync(`/${name}`)) return undefined;
  const names = commands.map((command) => command.name);
  const meant = nearestWord(name.toLowerCase(), names);
  const more = meant === undefined ? "" : ` Did you mean /${meant}?`;
  return {
    level: "warning",
    code: "no_such_command",
    message: `No extension has the command /${name}: the text went to the model.${more}`,
  };
}
