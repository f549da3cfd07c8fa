import { BonsaiError } from "@bonsai-agent/messages";
import type { CommandInfo } from "../api/command.ts";
import type { Registration } from "./registrations.ts";
import type { ExtensionPlace, RegisteredCommand } from "./room.ts";

/** A command and what stands behind it, trimmed. Undefined for a text that is no command. */
export function parsedCommand(text: string): { name: string; args: string } | undefined {
  const [, name, args = ""] = /^\/(\S+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  return name === undefined ? undefined : { name, args };
}

/**
 * True for a name that the front end has itself; that is told, and breaks no extension.
 * @throws BonsaiError `extension_command_invalid`
 */
export function isReserved({ scope, room, host }: ExtensionPlace, name: string): boolean {
  if (!/^[^\s/]\S*$/.test(name)) {
    throw new BonsaiError({
      code: "extension_command_invalid",
      message: `${scope.source} registers a command called ${JSON.stringify(name)}; a name has no blanks, and no slash in front.`,
      hint: "Give the command another name.",
    });
  }
  if (!room.reservedCommands.has(name)) return false;
  host.onNotice({
    level: "warning",
    code: "extension_command_reserved",
    message: `${scope.source} registers the command /${name}, which Bonsai has itself: Bonsai's stands.`,
  });
  return true;
}

export function commandInfo({ name, value, path }: Registration<RegisteredCommand>): CommandInfo {
  const { description } = value.options;
  return { name, extensionPath: path, ...(description === undefined ? {} : { description }) };
}
