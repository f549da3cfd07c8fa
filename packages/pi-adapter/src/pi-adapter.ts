import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ExtensionAPI, ExtensionMessage, ExtensionTool } from "@bonsai-agent/extension";
import type { ExtensionAdapter, ResourceCommandInfo, SendMessageOptions } from "@bonsai-agent/extension/host";
import { piContext } from "./context.ts";
import { listenAsPi } from "./events.ts";
import { bonsaiModel, type GivenModel } from "./models/model.ts";
import { bonsaiProvider, type PiProvider } from "./models/provider.ts";
import { onceFor, overlay, type PiExtension, PromptEvents, sendAsUser } from "./pi-extension.ts";
import { piTheme } from "./theme.ts";
import { outputPad, registeredTool, withHints } from "./tools/registered-tool.ts";
import { isWrittenForPi } from "./written-for-pi.ts";

/**
 * Adds pi's names to the API and the context. Extensions that were written for pi get pi's shapes where a name means something
 * else in Bonsai, for example in streamed events.
 * @param options.isAllForPi true: all extensions get pi's shapes. Default: those that import a package of pi
 */
export function piAdapter({ isAllForPi = false }: { isAllForPi?: boolean } = {}): ExtensionAdapter {
  const prompts = new PromptEvents();
  const known = new Map<string, PiExtension>();
  return {
    api(api, extension) {
      const isForPi = isAllForPi || isWrittenForPi(extension.path);
      if (isForPi) offerPi(process.env);
      const pi = { api, extension, isForPi, prompts, notifyOnce: onceFor(extension) };
      known.set(extension.path, pi);
      return piApi(pi);
    },
    context(context, { path }) {
      const pi = known.get(path);
      return pi === undefined ? context : piContext(context, pi);
    },
  };
}

/** Folders with a program `pi`: in the packed command, and in its sources. */
const PI_FOLDERS = ["../bin/as-pi", "../../cli/bin/as-pi"].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

/**
 * Adds Bonsai as `pi` to the path of programs that this process starts: packages of pi start it as a sub-agent. The folder is
 * the last in the path, so that an installed `pi` comes first.
 */
function offerPi(env: NodeJS.ProcessEnv): void {
  const folder = PI_FOLDERS.find((each) => existsSync(join(each, "pi")));
  const path = env.PATH ?? "";
  if (folder === undefined || path.split(delimiter).includes(folder)) return;
  env.PATH = path === "" ? folder : `${path}${delimiter}${folder}`;
  env.BONSAI_NODE = process.execPath;
}

/** An API object with pi's names. */
function piApi(pi: PiExtension): ExtensionAPI {
  const { api, extension, notifyOnce } = pi;
  return overlay(api, {
    on: listenAsPi(pi),
    ...piRenderers(api),
    registerTool: (tool: ExtensionTool) => api.registerTool(registeredTool(tool)),
    ...unsupportedMethods(pi),
    registerProvider: (name: string | PiProvider, given?: PiProvider) => {
      try {
        const provider = bonsaiProvider(name, given, notifyOnce);
        return api.registerProvider(provider.name, provider.options);
      } catch (error) {
        extension.notifyRefused(error);
        return () => {};
      }
    },
    setModel: (model: GivenModel) => api.setModel(bonsaiModel(model)),
    getCommands: () => api.getCommands().map(piCommand),
    getAllTools: () =>
      api.getAllTools().map((info) => ({ ...info, ...sourceOf(info.extensionPath ?? "builtin") })),
    sendUserMessage: sendAsUser(pi),
    sendMessage: (message: ExtensionMessage, settings?: SendMessageOptions) =>
      api.sendMessage({ ...message, display: message.display ?? true }, settings),
  }) as unknown as ExtensionAPI;
}

/** Methods without an effect in Bonsai, and what to use instead. */
const UNSUPPORTED: Readonly<Record<string, string>> = {
  registerMarkdownTransformer: "",
  registerVirtualModel:
    ": Bonsai has no virtual models; use registerProvider with streamSimple to choose a model",
  registerMcpServer:
    ": configure servers in mcp.json for the extension @bonsai-agent/mcp (`bonsai extension add mcp`)",
  unregisterMcpServer: ": use /mcp off NAME of the extension @bonsai-agent/mcp",
  registerToolRenderer: ": use renderCall and renderResult of the tool",
};

/** A call is a notice, so that the rest of the extension works. */
function unsupportedMethods({ notifyOnce }: PiExtension): Record<string, () => unknown> {
  const methods = Object.entries(UNSUPPORTED).map(([name, instead]) => {
    const notify = () => {
      notifyOnce(name, `calls ${name}, which has no effect in Bonsai${instead}`);
      return () => {};
    };
    return [name, notify] as const;
  });
  return { ...Object.fromEntries(methods), getMcpServers: () => [], getSettings: () => ({}) };
}

function piCommand(info: ReturnType<ExtensionAPI["getCommands"]>[number]): object {
  if (info.source === "extension") return { ...info, ...sourceOf(info.extensionPath) };
  const { place, path, ...command } = info;
  return { ...command, sourceInfo: { path, ...piSource(place) } };
}

/** The origin of a template or a skill, in pi's words. */
export function piSource({ origin, from }: ResourceCommandInfo["place"]): object {
  const isTemporary = origin === "flag" || origin === "extension";
  return {
    source: origin === "flag" ? "cli" : (from ?? "local"),
    scope: origin === "project" ? "project" : isTemporary ? "temporary" : "user",
    origin: origin === "package" ? "package" : "top-level",
  };
}

/** The origin of a tool or a command. */
function sourceOf(path: string): { source: "extension"; path: string; sourceInfo: object } {
  const sourceInfo = { path, source: path, scope: "user", origin: "top-level" };
  return { source: "extension", path, sourceInfo };
}

/** Renderers get pi's theme and options. Bonsai refuses values that are no functions. */
function piRenderers(
  api: ExtensionAPI,
): Pick<ExtensionAPI, "registerMessageRenderer" | "registerEntryRenderer"> {
  return {
    registerMessageRenderer: (customType, renderer) =>
      api.registerMessageRenderer(
        customType,
        ifFunction(renderer, (message, options, theme) => {
          const more = { role: "custom", timestamp: 0, ...message };
          return renderer(more as never, { ...withHints(options), outputPad } as never, piTheme(theme));
        }),
      ),
    registerEntryRenderer: (customType, renderer) =>
      api.registerEntryRenderer(
        customType,
        ifFunction(renderer, (entry, options, theme) =>
          renderer(entry as never, withHints(options), piTheme(theme)),
        ),
      ),
  };
}

function ifFunction<Renderer>(given: unknown, wrapped: Renderer): Renderer {
  return typeof given === "function" ? wrapped : (given as Renderer);
}
