import type { ExtensionAPI, ExtensionMessage, ExtensionTool, Theme } from "@bonsai-agent/extension";
import type { ExtensionAdapter, ResourceCommandInfo, SendMessageOptions } from "@bonsai-agent/extension/host";
import { piContext } from "./context.ts";
import { piListening } from "./events.ts";
import { bonsaiModel, type GivenModel } from "./models/model.ts";
import { bonsaiProvider, type PiProvider } from "./models/provider.ts";
import { keyHint, keyText } from "./modules/drawing.ts";
import { onceFor, overlay, type PiExtension, PromptEvents, sendingAsUser } from "./pi-extension.ts";
import { offerPi } from "./pi-program.ts";
import { piTheme } from "./theme.ts";
import { withRemedy } from "./tools/remedy.ts";
import { writtenForPi } from "./written-for-pi.ts";

/**
 * Lays pi's names that have no place in Bonsai over the API and the context. Where a name means one thing here and
 * another in pi (streamed events, the files of a compaction), extensions that were written for pi get pi's.
 * @param options.isAllForPi true: all are taken for such. Default: those that import a package of pi
 */
export function piAdapter({ isAllForPi = false }: { isAllForPi?: boolean } = {}): ExtensionAdapter {
  const prompts = new PromptEvents();
  const known = new Map<string, PiExtension>();
  return {
    api(api, extension) {
      const isForPi = isAllForPi || writtenForPi(extension.path);
      if (isForPi) offerPi();
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

/** An API object with pi's names laid over it. */
function piApi(pi: PiExtension): ExtensionAPI {
  const { api, extension, notifyOnce } = pi;
  return overlay(api, {
    on: piListening(pi),
    ...piRenderers(api),
    registerMarkdownTransformer: () => {
      notifyOnce(
        "registerMarkdownTransformer",
        "calls registerMarkdownTransformer, which has no effect in Bonsai",
      );
      return () => {};
    },
    ...laterNames(pi),
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
    sendUserMessage: sendingAsUser(pi),
    sendMessage: (message: ExtensionMessage, settings?: SendMessageOptions) =>
      api.sendMessage({ ...message, display: message.display ?? true }, settings),
  }) as unknown as ExtensionAPI;
}

const later: Readonly<Record<string, string>> = {
  registerVirtualModel:
    "Bonsai has no virtual models; use registerProvider with streamSimple to choose a model",
  registerMcpServer:
    "configure servers in mcp.json for the extension @bonsai-agent/mcp (`bonsai extension add mcp`)",
  unregisterMcpServer: "use /mcp off NAME of the extension @bonsai-agent/mcp",
  registerToolRenderer: "use renderCall and renderResult of the tool",
};

/** Names of pi 1.5 that Bonsai has no place for: a notice, so that the rest of the extension works. */
function laterNames({ notifyOnce }: PiExtension): Record<string, () => unknown> {
  const inVain = Object.entries(later).map(
    ([name, why]) =>
      [name, () => notifyOnce(name, `calls ${name}, which has no effect in Bonsai: ${why}`)] as const,
  );
  return { ...Object.fromEntries(inVain), getMcpServers: () => [], getSettings: () => ({}) };
}

function piCommand(info: ReturnType<ExtensionAPI["getCommands"]>[number]): object {
  if (info.source === "extension") return { ...info, ...sourceOf(info.extensionPath) };
  const { place, path, ...command } = info;
  return { ...command, sourceInfo: { path, ...piSource(place) } };
}

/** Where a template or a skill comes from, in pi's words. */
export function piSource({ origin, from }: ResourceCommandInfo["place"]): object {
  const isOfTheCall = origin === "flag" || origin === "extension";
  return {
    source: origin === "flag" ? "cli" : (from ?? "local"),
    scope: origin === "project" ? "project" : isOfTheCall ? "temporary" : "user",
    origin: origin === "package" ? "package" : "top-level",
  };
}

/** Where something comes from, as pi shows it. */
function sourceOf(path: string): { source: "extension"; path: string; sourceInfo: object } {
  return {
    source: "extension",
    path,
    sourceInfo: { path, source: path, scope: "user", origin: "top-level" },
  };
}

type Renderers = Pick<ExtensionAPI, "registerMessageRenderer" | "registerEntryRenderer" | "registerTool">;

/** Columns at either side of a message. */
const outputPad = 1;

/** Renderers get pi's theme and options. What is no function stays as it is: Bonsai refuses it. */
function piRenderers(api: Renderers): Renderers {
  return {
    registerMessageRenderer: (customType, renderer) =>
      api.registerMessageRenderer(
        customType,
        whereFunction(renderer, (message, options, theme) => {
          const more = { role: "custom", timestamp: 0, ...message };
          return renderer(more as never, { ...withHints(options), outputPad } as never, piTheme(theme));
        }),
      ),
    registerEntryRenderer: (customType, renderer) =>
      api.registerEntryRenderer(
        customType,
        whereFunction(renderer, (entry, options, theme) =>
          renderer(entry as never, withHints(options), piTheme(theme)),
        ),
      ),
    registerTool: ((tool: ExtensionTool) =>
      api.registerTool(withTheme(withRemedy(tool)))) as Renderers["registerTool"],
  };
}

/** Of pi 1.5: how keys are called. */
function withHints<Options extends object>(options: Options): Options {
  return { ...options, keyText, keyHint };
}

function whereFunction<Renderer>(given: unknown, wrapped: Renderer): Renderer {
  return typeof given === "function" ? wrapped : (given as Renderer);
}

/** The tool's own renderers, with pi's theme. */
function withTheme(tool: ExtensionTool): ExtensionTool {
  const { renderCall, renderResult } = tool ?? {};
  const extra: Partial<ExtensionTool> = {};
  if (typeof renderCall === "function")
    extra.renderCall = (args, theme: Theme, context) =>
      renderCall.call(tool, args, piTheme(theme), withImages(context));
  if (typeof renderResult === "function")
    extra.renderResult = (result, options, theme: Theme, context) =>
      renderResult.call(tool, result, options, piTheme(theme), withImages(context));
  return Object.keys(extra).length === 0 ? tool : (overlay(tool, extra) as ExtensionTool);
}

function withImages<Context extends object>(context: Context): Context {
  return { showImages: false, outputPad, ...withHints(context) };
}
