import { BonsaiError } from "@bonsai-agent/messages";
import type { EntryRenderer, MessageRenderer } from "../api/drawing.ts";
import type { CommandInfo, ExtensionAPI } from "../api/extension-api.ts";
import type { ExtensionTool } from "../api/extension-tool.ts";
import type { ProviderOptions } from "../api/provider-options.ts";
import { checkedTool } from "./agent-tool.ts";
import { badArgument } from "./extension-errors.ts";
import type { ExtensionPlace, RegisteredCommand } from "./extension-registry.ts";
import { runOf } from "./extension-scope.ts";
import type { Registration } from "./registrations.ts";

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

/** A command and what stands behind it, trimmed. Undefined for a text that is no command. */
export function parsedCommand(text: string): { name: string; args: string } | undefined {
  const [, name, args = ""] = /^\/(\S+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  return name === undefined ? undefined : { name, args };
}

/**
 * True for a name that the front end has itself; that is told, and breaks no extension.
 * @throws BonsaiError `extension_command_invalid`
 */
function isReserved({ scope, room, host }: ExtensionPlace, name: string): boolean {
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

type Rendering = Pick<ExtensionAPI, "registerMessageRenderer" | "registerEntryRenderer">;

/** How an extension draws what it puts into the session. */
export function rendering({ room, scope }: ExtensionPlace): Rendering {
  const { path, source } = scope;
  const check = (call: keyof Rendering, customType: unknown, renderer: unknown) => {
    scope.checkLoaded(call);
    if (typeof customType !== "string" || customType === "")
      throw badArgument(scope, call, "a customType, a text", customType);
    if (typeof renderer !== "function")
      throw badArgument(scope, `${call}("${customType}", …)`, "a renderer, a function", renderer);
  };
  return {
    registerMessageRenderer(customType, renderer) {
      check("registerMessageRenderer", customType, renderer);
      const value = { renderer: renderer as MessageRenderer, scope };
      const undo = room.messageRenderers.add({ name: customType, value, source, path });
      return scope.keepAs(`renderer of messages ${customType}`, undo);
    },
    registerEntryRenderer(customType, renderer) {
      check("registerEntryRenderer", customType, renderer);
      const value = { renderer: renderer as EntryRenderer, scope };
      const undo = room.entryRenderers.add({ name: customType, value, source, path });
      return scope.keepAs(`renderer of entries ${customType}`, undo);
    },
  };
}

type ProviderCalls = Pick<ExtensionAPI, "registerProvider" | "unregisterProvider">;

/** How an extension brings providers of models; what it says of one again adds to what it said, as in pi. */
export function providerCalls({ scope, room }: ExtensionPlace): ProviderCalls {
  const own = new Map<string, { options: ProviderOptions; undo: () => void }>();
  return {
    registerProvider(name, options) {
      scope.checkLoaded("registerProvider");
      const said = Object.entries(options ?? {}).filter(([, value]) => value !== undefined);
      const all: ProviderOptions = { ...own.get(name)?.options, ...Object.fromEntries(said) };
      const { stream } = all;
      const takeOut = room.providers.register(name, {
        ...all,
        ...(typeof stream === "function"
          ? { stream: (request) => runOf(scope, () => stream.call(all, request)) }
          : {}),
      });
      const undo = scope.keepAs(`provider ${name}`, () => {
        if (own.get(name)?.undo === undo) own.delete(name);
        takeOut();
      });
      own.set(name, { options: all, undo });
      return undo;
    },
    unregisterProvider(name) {
      scope.checkLoaded("unregisterProvider");
      own.get(name)?.undo();
    },
  };
}
