import { ToolRegistry } from "@bonsai-agent/agent";
import { BonsaiError } from "@bonsai-agent/messages";
import type { CommandInfo } from "../api/command.ts";
import type { ExtensionAPI } from "../api/extension-api.ts";
import type { ExtensionTool } from "../api/extension-tool.ts";
import { agentTool } from "./agent-tool.ts";
import type { Registration } from "./registrations.ts";
import type { ExtensionPlace, RegisteredCommand } from "./room.ts";

type Registering = Pick<
  ExtensionAPI,
  | "registerTool"
  | "registerCommand"
  | "registerFlag"
  | "getFlag"
  | "registerShortcut"
  | "registerProvider"
  | "unregisterProvider"
  | "getCommands"
>;

/** What an extension can add. */
export function registering(place: ExtensionPlace): Registering {
  const { room, scope, host, context, commandContext } = place;
  const { path, source } = scope;
  return {
    registerTool(definition) {
      scope.checkLoaded("registerTool");
      const tool = definition as unknown as ExtensionTool;
      const forAgent = agentTool(tool, context);
      new ToolRegistry().register(forAgent);
      return scope.keep(room.tools.register({ name: tool.name, value: { tool, forAgent }, source, path }));
    },
    registerCommand(name, options) {
      scope.checkLoaded("registerCommand");
      checkCommand(name, source, room.reservedCommands);
      const run = async (args: string) => options.handler(args, commandContext());
      return scope.keep(room.commands.add({ name, value: { options, run }, source, path }));
    },
    registerFlag(name, options) {
      scope.checkLoaded("registerFlag");
      return scope.keep(room.flags.add({ name, value: options, source, path }));
    },
    getFlag(name) {
      scope.checkLoaded("getFlag");
      const flag = room.flags.get(name);
      return flag === undefined ? undefined : (host.flag(name) ?? flag.value.default);
    },
    registerShortcut(key, options) {
      scope.checkLoaded("registerShortcut");
      const run = async () => options.handler(context());
      return scope.keep(room.shortcuts.add({ name: key, value: { options, run }, source, path }));
    },
    registerProvider() {
      throw new Error("Not built yet.");
    },
    unregisterProvider() {
      throw new Error("Not built yet.");
    },
    getCommands() {
      scope.checkLoaded("getCommands");
      return room.commands.standing().map(commandInfo);
    },
  };
}

export function commandInfo({ name, value, path }: Registration<RegisteredCommand>): CommandInfo {
  const { description } = value.options;
  return { name, extensionPath: path, ...(description === undefined ? {} : { description }) };
}

function checkCommand(name: string, source: string, reserved: ReadonlySet<string>): void {
  const isWord = /^[^\s/][^\s]*$/.test(name);
  if (isWord && !reserved.has(name)) return;
  throw new BonsaiError({
    code: "extension_command_invalid",
    message: isWord
      ? `${source} registers the command /${name}, which Bonsai has itself.`
      : `${source} registers a command called ${JSON.stringify(name)}; a name has no blanks and no slash in front.`,
    hint: "Give the command another name.",
  });
}
