import { BonsaiError } from "@bonsai-agent/messages";
import { z } from "zod";
import type { EntryRenderer, MessageRenderer } from "../api/drawing.ts";
import type { ExtensionAPI, ExtensionCommandInfo, FlagOptions } from "../api/extension-api.ts";
import type { ExtensionTool } from "../api/extension-tool.ts";
import type { ProviderOptions } from "../api/provider-options.ts";
import { validateTool } from "./agent-tool.ts";
import { badArgument, checkOptions, refusalNotice } from "./extension-errors.ts";
import { registerProvider } from "./extension-providers.ts";
import type { ExtensionRuntime, RegisteredCommand } from "./extension-registry.ts";
import { type ExtensionScope, runOf } from "./extension-scope.ts";
import type { Registration } from "./registrations.ts";

/** The calls that register something, and the calls that read registrations. */
export function registering(runtime: ExtensionRuntime) {
  return {
    ...registeringForUsers(runtime),
    ...registeringRenderers(runtime),
    ...registeringProviders(runtime),
  };
}

/** Tools for the model; commands, flags and keys for the user. */
function registeringForUsers(runtime: ExtensionRuntime) {
  const { registry, scope, host } = runtime;
  return {
    registerTool(definition) {
      const tool = definition as unknown as ExtensionTool;
      const forAgent = validateTool(runtime, tool);
      return registry.tools.register(scope, tool.name, { tool, forAgent });
    },
    registerCommand(name, options) {
      if (typeof name !== "string") throw badArgument(scope, "registerCommand", "a string as name", name);
      checkOptions(scope, `registerCommand("${name}", …)`, options, handlerSchema);
      if (isReserved(runtime, name)) return () => {};
      const run = async (args: string) => runOf(scope, () => options.handler(args, runtime.commandContext()));
      const complete = async (prefix: string) =>
        runOf(scope, () => options.getArgumentCompletions?.(prefix)) ?? [];
      return registry.commands.register(scope, name, { options, run, complete });
    },
    registerFlag(name, given) {
      checkFlagName(scope, name);
      return registry.flags.register(scope, name, flagOptions(scope, name, given));
    },
    getFlag(name) {
      const flag = registry.flags.get(name);
      return flag === undefined ? undefined : (host.flag(name) ?? flag.value.default);
    },
    registerShortcut(key, options) {
      if (typeof key !== "string" || key === "")
        throw badArgument(scope, "registerShortcut", 'a key like "ctrl+shift+k"', key);
      checkOptions(scope, `registerShortcut("${key}", …)`, options, handlerSchema);
      const run = async () => runOf(scope, () => options.handler(runtime.context()));
      return registry.shortcuts.register(scope, key, { options, run });
    },
    getCommands() {
      return [...registry.commands.standing().map(commandInfo), ...(host.resourceCommands?.() ?? [])];
    },
  } satisfies Partial<ExtensionAPI>;
}

const text = z.string("a string").nullish();
const handlerSchema = z.object({
  handler: z.custom((value) => typeof value === "function", "a function"),
  description: text,
});
const flagSchema = z.object({
  type: z.enum(["boolean", "string"], '"boolean" or "string"').optional(),
  description: text,
  default: z.union([z.boolean(), z.string()], "true, false or a string").optional(),
});

function checkFlagName(scope: ExtensionScope, name: string): void {
  if (typeof name !== "string") throw badArgument(scope, "registerFlag", "a string as name", name);
  if (/^[a-zA-Z0-9][a-zA-Z0-9-]*$/.test(name)) return;
  throw new BonsaiError({
    code: "extension_flag_invalid",
    message: `${scope.source} registers the flag ${JSON.stringify(name)}. A flag name has only letters, digits and hyphens, and no leading hyphen.`,
    hint: "Give the flag another name.",
  });
}

/** A flag without a type gets the type of its default, else boolean. */
function flagOptions(scope: ExtensionScope, name: string, given: Partial<FlagOptions> = {}): FlagOptions {
  const call = `registerFlag("${name}", …)`;
  checkOptions(scope, call, given, flagSchema);
  const { default: value, type = typeof value === "string" ? "string" : "boolean" } = given;
  if (value !== undefined && typeof value !== type)
    throw badArgument(scope, call, `a ${type} as default`, value);
  return { ...given, type } as FlagOptions;
}

/** True for a built-in command; then a notice says so. @throws BonsaiError `extension_command_invalid` */
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

export function commandInfo({ name, value, scope }: Registration<RegisteredCommand>): ExtensionCommandInfo {
  const { description } = value.options;
  return {
    name,
    source: "extension",
    extensionPath: scope.path,
    ...(description === undefined ? {} : { description }),
  };
}

function registeringRenderers({ registry, scope }: ExtensionRuntime) {
  const check = (call: string, customType: string, renderer: unknown) => {
    if (typeof customType !== "string" || customType === "")
      throw badArgument(scope, call, "a non-empty string as customType", customType);
    if (typeof renderer !== "function")
      throw badArgument(scope, `${call}("${customType}", …)`, "a function as renderer", renderer);
  };
  return {
    registerMessageRenderer(customType: string, renderer: MessageRenderer<never>) {
      check("registerMessageRenderer", customType, renderer);
      return registry.messageRenderers.register(scope, customType, renderer as MessageRenderer);
    },
    registerEntryRenderer(customType: string, renderer: EntryRenderer<never>) {
      check("registerEntryRenderer", customType, renderer);
      return registry.entryRenderers.register(scope, customType, renderer as EntryRenderer);
    },
  };
}

/** A second call for a provider adds to its options, as in pi. */
function registeringProviders({ scope, models, host }: ExtensionRuntime) {
  const own = new Map<string, { options: ProviderOptions; undo: () => void }>();
  return {
    registerProvider(name, options) {
      const given = Object.entries(options ?? {}).filter(([, value]) => value !== undefined);
      const all: ProviderOptions = { ...own.get(name)?.options, ...Object.fromEntries(given) };
      const { stream } = all;
      const scoped: Partial<ProviderOptions> =
        typeof stream !== "function"
          ? {}
          : { stream: (request, answer) => runOf(scope, () => stream.call(all, request, answer)) };
      const remove = registerProvider(models, name, { ...all, ...scoped }, (error) =>
        host.onNotice(refusalNotice(scope, error)),
      );
      const undo = scope.keepAs(`provider ${name}`, () => {
        if (own.get(name)?.undo === undo) own.delete(name);
        remove();
      });
      own.set(name, { options: all, undo });
      return undo;
    },
    unregisterProvider(name) {
      own.get(name)?.undo();
    },
  } satisfies Partial<ExtensionAPI>;
}
