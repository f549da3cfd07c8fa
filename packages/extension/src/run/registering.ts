import { BonsaiError } from "@bonsai-agent/messages";
import type { ExtensionAPI } from "../api/extension-api.ts";
import type { ExtensionTool } from "../api/extension-tool.ts";
import { badArgument } from "./bad-argument.ts";
import { checkedTool } from "./checked-tool.ts";
import { commandInfo, isReserved } from "./command-names.ts";
import { runOf } from "./extension-work.ts";
import type { ExtensionPlace } from "./room.ts";

type Registering = Pick<
  ExtensionAPI,
  "registerTool" | "registerCommand" | "registerFlag" | "getFlag" | "registerShortcut" | "getCommands"
>;

/** What an extension can give to the model, to the user and to the command line. */
export function registering(place: ExtensionPlace): Registering {
  const { room, scope, host } = place;
  const { path, source } = scope;
  return {
    registerTool(definition) {
      scope.checkLoaded("registerTool");
      const tool = definition as unknown as ExtensionTool;
      const forAgent = checkedTool(place, tool);
      return scope.keepAs(
        `tool ${tool.name}`,
        room.tools.register({ name: tool.name, value: { tool, forAgent, scope }, source, path }),
      );
    },
    registerCommand(name, options) {
      scope.checkLoaded("registerCommand");
      if (typeof name !== "string") throw badArgument(scope, "registerCommand", "a name, a text", name);
      if (typeof options?.handler !== "function")
        throw badArgument(scope, `registerCommand("${name}", …)`, "a handler, a function", options);
      checkDescription(place, `registerCommand("${name}", …)`, options);
      if (isReserved(place, name)) return () => {};
      const run = async (args: string) => runOf(scope, () => options.handler(args, place.commandContext()));
      const complete = async (prefix: string) =>
        runOf(scope, () => options.getArgumentCompletions?.(prefix)) ?? [];
      return scope.keepAs(
        `command ${name}`,
        room.commands.add({ name, value: { options, run, complete }, source, path }),
      );
    },
    registerFlag(name, options) {
      scope.checkLoaded("registerFlag");
      checkFlag(place, name, options);
      return scope.keepAs(`flag ${name}`, room.flags.add({ name, value: options, source, path }));
    },
    getFlag(name) {
      scope.checkLoaded("getFlag");
      const flag = room.flags.get(name);
      return flag === undefined ? undefined : (host.flag(name) ?? flag.value.default);
    },
    registerShortcut(key, options) {
      scope.checkLoaded("registerShortcut");
      if (typeof key !== "string" || key === "")
        throw badArgument(scope, "registerShortcut", 'a key like "ctrl+shift+k"', key);
      if (typeof options?.handler !== "function")
        throw badArgument(scope, `registerShortcut("${key}", …)`, "a handler, a function", options);
      checkDescription(place, `registerShortcut("${key}", …)`, options);
      const run = async () => runOf(scope, () => options.handler(place.context()));
      return scope.keepAs(
        `key ${key}`,
        room.shortcuts.add({ name: key, value: { options, run }, source, path }),
      );
    },
    getCommands() {
      scope.checkLoaded("getCommands");
      return room.commands.standing().map(commandInfo);
    },
  };
}

function checkFlag(place: ExtensionPlace, name: string, options: unknown): void {
  const { scope } = place;
  if (typeof name !== "string") throw badArgument(scope, "registerFlag", "a name, a text", name);
  const { type } = (options ?? {}) as { type?: unknown };
  if (type !== "boolean" && type !== "string")
    throw badArgument(scope, `registerFlag("${name}", …)`, 'type "boolean" or "string"', options);
  checkDescription(place, `registerFlag("${name}", …)`, options as { description?: unknown });
  const { default: value } = options as { default?: unknown };
  if (value !== undefined && typeof value !== type)
    throw badArgument(scope, `registerFlag("${name}", …)`, `a default of the type ${type}`, value);
  if (/^[a-zA-Z0-9][a-zA-Z0-9-]*$/.test(name)) return;
  throw new BonsaiError({
    code: "extension_flag_invalid",
    message: `${scope.source} registers a flag called ${JSON.stringify(name)}; allowed are letters, digits and - between them.`,
    hint: "Give the name without the dashes in front.",
  });
}

/** It is listed for people, and sent to clients as JSON. */
function checkDescription({ scope }: ExtensionPlace, call: string, options: { description?: unknown }): void {
  const { description = "" } = options;
  if (typeof description !== "string") throw badArgument(scope, call, "a description, a text", description);
}
