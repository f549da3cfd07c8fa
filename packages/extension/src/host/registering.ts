import { BonsaiError } from "@bonsai-agent/messages";
import type { EntryRenderer, MessageRenderer } from "../api/drawing.ts";
import type { ExtensionAPI, ExtensionCommandInfo, FlagOptions } from "../api/extension-api.ts";
import type { ExtensionTool } from "../api/extension-tool.ts";
import type { ProviderAnswer, ProviderOptions, ProviderStreamRequest } from "../api/provider-options.ts";
import { checkedTool, mendedTool } from "./agent-tool.ts";
import { badArgument, refusalNotice } from "./extension-errors.ts";
import { registerProvider } from "./extension-providers.ts";
import type { ExtensionRuntime, RegisteredCommand } from "./extension-registry.ts";
import { type ExtensionScope, runOf } from "./extension-scope.ts";
import type { Registration } from "./registrations.ts";
import { withSoundFields } from "./sound-fields.ts";

/** The names of the API under which an extension registers something, each with its undo. */
export function registering(runtime: ExtensionRuntime) {
  return eachAlone(runtime, {
    ...registeringForUsers(runtime),
    ...registeringRenderers(runtime),
    ...registeringProviders(runtime),
  });
}

/** What cannot be registered is a notice, and costs the extension nothing else. */
export function eachAlone<Calls extends object>(runtime: ExtensionRuntime, calls: Calls): Calls {
  const alone =
    (call: (...args: unknown[]) => unknown) =>
    (...args: unknown[]): unknown => {
      try {
        return call(...args);
      } catch (error) {
        if (runtime.scope.isUnloaded) throw error;
        runtime.host.onNotice(refusalNotice(runtime.scope, error));
        return () => {};
      }
    };
  return Object.fromEntries(
    Object.entries(calls).map(([name, call]) => [name, name.startsWith("get") ? call : alone(call)]),
  ) as Calls;
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
      const tool = mendedTool(runtime, definition as unknown as ExtensionTool);
      const forAgent = checkedTool(runtime, tool);
      const undo = registry.tools.add(registration(scope, tool.name, { tool, forAgent, scope }));
      return scope.keepAs(`tool ${tool.name}`, undo);
    },
    registerCommand(name, given) {
      scope.checkLoaded("registerCommand");
      if (typeof name !== "string") throw badArgument(scope, "registerCommand", "a string as name", name);
      const options = withHandler(runtime, `registerCommand("${name}", …)`, given);
      if (isReserved(runtime, name)) return () => {};
      const run = async (args: string) => runOf(scope, () => options.handler(args, runtime.commandContext()));
      const complete = async (prefix: string) =>
        runOf(scope, () => options.getArgumentCompletions?.(prefix)) ?? [];
      const undo = registry.commands.add(registration(scope, name, { options, run, complete }));
      return scope.keepAs(`command ${name}`, undo);
    },
    registerFlag(name, given) {
      scope.checkLoaded("registerFlag");
      checkFlagName(scope, name);
      const options = mendedFlag(runtime, name, given);
      return scope.keepAs(`flag ${name}`, registry.flags.add(registration(scope, name, options)));
    },
    getFlag(name) {
      scope.checkLoaded("getFlag");
      const flag = registry.flags.get(name);
      return flag === undefined ? undefined : (host.flag(name) ?? flag.value.default);
    },
    registerShortcut(key, given) {
      scope.checkLoaded("registerShortcut");
      if (typeof key !== "string" || key === "")
        throw badArgument(scope, "registerShortcut", 'a key like "ctrl+shift+k"', key);
      const options = withHandler(runtime, `registerShortcut("${key}", …)`, given);
      const run = async () => runOf(scope, () => options.handler(runtime.context()));
      return scope.keepAs(`key ${key}`, registry.shortcuts.add(registration(scope, key, { options, run })));
    },
    getCommands() {
      scope.checkLoaded("getCommands");
      return [...registry.commands.standing().map(commandInfo), ...(host.resourceCommands?.() ?? [])];
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

/** @throws BonsaiError where there is no handler; a description that is none is left out */
function withHandler<Options extends { handler?: unknown; description?: string | undefined }>(
  runtime: ExtensionRuntime,
  call: string,
  options: Options,
): Options {
  if (typeof options?.handler !== "function")
    throw badArgument(runtime.scope, call, "a function as handler", options);
  return withSoundFields(runtime, call, options, { description: [isText, "a string"] });
}

const isText = (value: unknown) => typeof value === "string";

function checkFlagName(scope: ExtensionScope, name: string): void {
  if (typeof name !== "string") throw badArgument(scope, "registerFlag", "a string as name", name);
  if (/^[a-zA-Z0-9][a-zA-Z0-9-]*$/.test(name)) return;
  throw new BonsaiError({
    code: "extension_flag_invalid",
    message: `${scope.source} registers the flag ${JSON.stringify(name)}. A flag name has only letters, digits and hyphens, and no leading hyphen.`,
    hint: "Give the flag another name.",
  });
}

/** A flag without a type is of that of its default, else a boolean. */
function mendedFlag(runtime: ExtensionRuntime, name: string, given: FlagOptions | undefined): FlagOptions {
  const call = `registerFlag("${name}", …)`;
  const sound = withSoundFields<Partial<FlagOptions>>(runtime, call, given ?? {}, {
    type: [(value) => value === "boolean" || value === "string", '"boolean" or "string"'],
    description: [isText, "a string"],
  });
  const { type = typeof sound.default === "string" ? "string" : "boolean", description } = sound;
  const { default: value } = withSoundFields<Partial<FlagOptions>>(runtime, call, sound, {
    default: [(given) => typeof given === type, `a ${type}`],
  });
  // Listed as JSON: a plain object.
  return {
    type,
    ...(description && { description }),
    ...(value === undefined ? {} : { default: value }),
  } as FlagOptions;
}

/**
 * True for a name that the front end has itself: a notice, which breaks no extension.
 * @throws BonsaiError `extension_command_invalid`
 */
function isReserved({ scope, registry, host }: ExtensionRuntime, name: string): boolean {
  if (!/^[^\s/]\S*$/.test(name)) {
    throw new BonsaiError({
      code: "extension_command_invalid",
      message: `${scope.source} registers the command ${JSON.stringify(name)}. A name must not have spaces or a leading slash.`,
      hint: "Give the command another name.",
    });
  }
  if (!registry.reservedCommands.has(name)) return false;
  host.onNotice({
    level: "warning",
    code: "extension_command_reserved",
    message: `${scope.source} registers /${name}, which is a built-in command. Keeping the built-in one.`,
  });
  return true;
}

export function commandInfo({ name, value, path }: Registration<RegisteredCommand>): ExtensionCommandInfo {
  const { description } = value.options;
  return {
    name,
    source: "extension",
    extensionPath: path,
    ...(description === undefined ? {} : { description }),
  };
}

/** How an extension draws what it puts into the session. */
function registeringRenderers({
  registry,
  scope,
}: ExtensionRuntime): Pick<ExtensionAPI, "registerMessageRenderer" | "registerEntryRenderer"> {
  const checked = <Renderer>(call: string, customType: string, renderer: unknown) => {
    scope.checkLoaded(call);
    if (typeof customType !== "string" || customType === "")
      throw badArgument(scope, call, "a non-empty string as customType", customType);
    if (typeof renderer !== "function")
      throw badArgument(scope, `${call}("${customType}", …)`, "a function as renderer", renderer);
    return registration(scope, customType, { renderer: renderer as Renderer, scope });
  };
  return {
    registerMessageRenderer(customType, renderer) {
      const entry = checked<MessageRenderer>("registerMessageRenderer", customType, renderer);
      return scope.keepAs(`message renderer ${customType}`, registry.messageRenderers.add(entry));
    },
    registerEntryRenderer(customType, renderer) {
      const entry = checked<EntryRenderer>("registerEntryRenderer", customType, renderer);
      return scope.keepAs(`entry renderer ${customType}`, registry.entryRenderers.add(entry));
    },
  };
}

/** How an extension brings providers of models: what it gives of one again adds to what it gave, as in pi. */
function registeringProviders({
  scope,
  models,
  host,
}: ExtensionRuntime): Pick<ExtensionAPI, "registerProvider" | "unregisterProvider"> {
  const own = new Map<string, { options: ProviderOptions; undo: () => void }>();
  return {
    registerProvider(name, options) {
      scope.checkLoaded("registerProvider");
      const said = Object.entries(options ?? {}).filter(([, value]) => value !== undefined);
      const all: ProviderOptions = { ...own.get(name)?.options, ...Object.fromEntries(said) };
      const { stream } = all;
      const given = typeof stream === "function" && {
        stream: (request: ProviderStreamRequest, answer: ProviderAnswer) =>
          runOf(scope, () => stream.call(all, request, answer)),
      };
      const takeOut = registerProvider(models, name, { ...all, ...given }, (error) =>
        host.onNotice(refusalNotice(scope, error)),
      );
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
