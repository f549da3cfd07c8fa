import { BonsaiError } from "@bonsai-agent/messages";
import type { EntryRenderer, MessageRenderer } from "../api/drawing.ts";
import type { CommandInfo, ExtensionAPI } from "../api/extension-api.ts";
import type { ExtensionTool } from "../api/extension-tool.ts";
import type { ProviderOptions } from "../api/provider-options.ts";
import { checkedTool } from "./agent-tool.ts";
import { badArgument } from "./extension-errors.ts";
import { registerProvider } from "./extension-providers.ts";
import type { ExtensionRuntime, RegisteredCommand } from "./extension-registry.ts";
import { type ExtensionScope, runOf } from "./extension-scope.ts";
import type { Registration } from "./registrations.ts";

/** The names of the API under which an extension registers something, each with its undo. */
export function registering(runtime: ExtensionRuntime) {
  return {
    ...registeringForUsers(runtime),
    ...registeringRenderers(runtime),
    ...registeringProviders(runtime),
  };
}

/** What an extension can give to the model, to the user and to the command line. */
function registeringForUsers(
  runtime: ExtensionRuntime,
): Pick<
  ExtensionAPI,
  "registerTool" | "registerCommand" | "registerFlag" | "getFlag" | "registerShortcut" | "getCommands"
> {
  const { registry, scope, host } = runtime;
  return {
    registerTool(definition) {
      scope.checkLoaded("registerTool");
      const tool = definition as unknown as ExtensionTool;
      const forAgent = checkedTool(runtime, tool);
      const undo = registry.tools.add(registration(scope, tool.name, { tool, forAgent, scope }));
      return scope.keepAs(`tool ${tool.name}`, undo);
    },
    registerCommand(name, options) {
      scope.checkLoaded("registerCommand");
      if (typeof name !== "string") throw badArgument(scope, "registerCommand", "a name, a text", name);
      checkHandler(scope, `registerCommand("${name}", …)`, options);
      if (isReserved(runtime, name)) return () => {};
      const run = async (args: string) => runOf(scope, () => options.handler(args, runtime.commandContext()));
      const complete = async (prefix: string) =>
        runOf(scope, () => options.getArgumentCompletions?.(prefix)) ?? [];
      const undo = registry.commands.add(registration(scope, name, { options, run, complete }));
      return scope.keepAs(`command ${name}`, undo);
    },
    registerFlag(name, options) {
      scope.checkLoaded("registerFlag");
      checkFlag(scope, name, options);
      return scope.keepAs(`flag ${name}`, registry.flags.add(registration(scope, name, options)));
    },
    getFlag(name) {
      scope.checkLoaded("getFlag");
      const flag = registry.flags.get(name);
      return flag === undefined ? undefined : (host.flag(name) ?? flag.value.default);
    },
    registerShortcut(key, options) {
      scope.checkLoaded("registerShortcut");
      if (typeof key !== "string" || key === "")
        throw badArgument(scope, "registerShortcut", 'a key like "ctrl+shift+k"', key);
      checkHandler(scope, `registerShortcut("${key}", …)`, options);
      const run = async () => runOf(scope, () => options.handler(runtime.context()));
      return scope.keepAs(`key ${key}`, registry.shortcuts.add(registration(scope, key, { options, run })));
    },
    getCommands() {
      scope.checkLoaded("getCommands");
      return registry.commands.standing().map(commandInfo);
    },
  };
}

function registration<Value>(
  { source, path }: ExtensionScope,
  name: string,
  value: Value,
): Registration<Value> {
  return { name, value, source, path };
}

function checkHandler(
  scope: ExtensionScope,
  call: string,
  options: { handler?: unknown; description?: unknown } | undefined,
): void {
  if (typeof options?.handler !== "function")
    throw badArgument(scope, call, "a handler, a function", options);
  checkDescription(scope, call, options);
}

function checkFlag(scope: ExtensionScope, name: string, options: unknown): void {
  if (typeof name !== "string") throw badArgument(scope, "registerFlag", "a name, a text", name);
  const call = `registerFlag("${name}", …)`;
  const given = (options ?? {}) as { type?: unknown; description?: unknown; default?: unknown };
  if (given.type !== "boolean" && given.type !== "string")
    throw badArgument(scope, call, 'type "boolean" or "string"', options);
  checkDescription(scope, call, given);
  if (given.default !== undefined && typeof given.default !== given.type)
    throw badArgument(scope, call, `a default of the type ${given.type}`, given.default);
  if (/^[a-zA-Z0-9][a-zA-Z0-9-]*$/.test(name)) return;
  throw new BonsaiError({
    code: "extension_flag_invalid",
    message: `${scope.source} registers a flag called ${JSON.stringify(name)}; allowed are letters, digits and - between them.`,
    hint: "Give the name without the dashes in front.",
  });
}

/** It is listed for people, and sent to clients as JSON. */
function checkDescription(
  scope: ExtensionScope,
  call: string,
  { description = "" }: { description?: unknown },
): void {
  if (typeof description !== "string") throw badArgument(scope, call, "a description, a text", description);
}

/**
 * True for a name that the front end has itself: a notice, which breaks no extension.
 * @throws BonsaiError `extension_command_invalid`
 */
function isReserved({ scope, registry, host }: ExtensionRuntime, name: string): boolean {
  if (!/^[^\s/]\S*$/.test(name)) {
    throw new BonsaiError({
      code: "extension_command_invalid",
      message: `${scope.source} registers a command called ${JSON.stringify(name)}; a name has no blanks, and no slash in front.`,
      hint: "Give the command another name.",
    });
  }
  if (!registry.reservedCommands.has(name)) return false;
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

/** How an extension draws what it puts into the session. */
function registeringRenderers({
  registry,
  scope,
}: ExtensionRuntime): Pick<ExtensionAPI, "registerMessageRenderer" | "registerEntryRenderer"> {
  const checked = <Renderer>(call: string, customType: string, renderer: unknown) => {
    scope.checkLoaded(call);
    if (typeof customType !== "string" || customType === "")
      throw badArgument(scope, call, "a customType, a text", customType);
    if (typeof renderer !== "function")
      throw badArgument(scope, `${call}("${customType}", …)`, "a renderer, a function", renderer);
    return registration(scope, customType, { renderer: renderer as Renderer, scope });
  };
  return {
    registerMessageRenderer(customType, renderer) {
      const entry = checked<MessageRenderer>("registerMessageRenderer", customType, renderer);
      return scope.keepAs(`renderer of messages ${customType}`, registry.messageRenderers.add(entry));
    },
    registerEntryRenderer(customType, renderer) {
      const entry = checked<EntryRenderer>("registerEntryRenderer", customType, renderer);
      return scope.keepAs(`renderer of entries ${customType}`, registry.entryRenderers.add(entry));
    },
  };
}

/** How an extension brings providers of models: what it gives of one again adds to what it gave, as in pi. */
function registeringProviders({
  scope,
  models,
}: ExtensionRuntime): Pick<ExtensionAPI, "registerProvider" | "unregisterProvider"> {
  const own = new Map<string, { options: ProviderOptions; undo: () => void }>();
  return {
    registerProvider(name, options) {
      scope.checkLoaded("registerProvider");
      const given = Object.entries(options ?? {}).filter(([, value]) => value !== undefined);
      const all: ProviderOptions = { ...own.get(name)?.options, ...Object.fromEntries(given) };
      const { stream } = all;
      const takeOut = registerProvider(models, name, {
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
