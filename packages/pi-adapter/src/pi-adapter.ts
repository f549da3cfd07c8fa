import type { ExtensionAPI, ExtensionMessage, ExtensionTool, Theme } from "@bonsai-agent/extension";
import type {
  AdaptedExtension,
  ExtensionAdapter,
  SendMessageOptions,
  SendUserMessageOptions,
} from "@bonsai-agent/extension/host";
import { piContext } from "./context.ts";
import { PiListening, PromptEvents } from "./events.ts";
import { bonsaiModel, type GivenModel } from "./models/model.ts";
import { bonsaiProvider, type PiProvider } from "./models/provider.ts";
import { onceTold, overlay, type Tell } from "./overlay.ts";
import { piTheme } from "./theme.ts";
import { writtenForPi } from "./written-for-pi.ts";

/**
 * Lays pi's names that have no place in Bonsai over the API and the context. Where a name means one thing here and
 * another in pi (streamed events, the files of a compaction), extensions that were written for pi get pi's.
 */
export function piAdapter(): ExtensionAdapter {
  const prompts = new PromptEvents();
  const known = new Map<string, { api: ExtensionAPI; isForPi: boolean; tell: Tell }>();
  return {
    api(api, extension) {
      const isForPi = writtenForPi(extension.path);
      const tell = onceTold(extension);
      known.set(extension.path, { api, isForPi, tell });
      return piApi(api, { extension, prompts, isForPi, tell });
    },
    context(context, { path }) {
      const extension = known.get(path);
      return extension === undefined ? context : piContext(context, { ...extension, prompts });
    },
  };
}

interface PiApiOptions {
  extension: AdaptedExtension;
  /** Of an extension that was written for pi: it gets pi's shapes also where ours mean something else. */
  isForPi: boolean;
  prompts: PromptEvents;
  tell: Tell;
}

type UserText = Parameters<ExtensionAPI["sendUserMessage"]>[0];
type PiUserMessageOptions = SendUserMessageOptions & { expandPromptTemplates?: boolean };

/** An API object with pi's names laid over it. */
function piApi(api: ExtensionAPI, options: PiApiOptions): ExtensionAPI {
  const { tell } = options;
  const listening = new PiListening({ ...options, api });
  return overlay(api, {
    on: listening.on,
    ...piRenderers(api),
    registerMarkdownTransformer: () => {
      tell("registerMarkdownTransformer", "calls registerMarkdownTransformer, which has no effect in Bonsai");
      return () => {};
    },
    registerProvider: (name: string | PiProvider, given?: PiProvider) => {
      const provider = bonsaiProvider(name, given, tell);
      return api.registerProvider(provider.name, provider.options);
    },
    setModel: (model: GivenModel) => api.setModel(bonsaiModel(model)),
    getCommands: () => api.getCommands().map((info) => ({ ...info, ...sourceOf(info.extensionPath) })),
    getAllTools: () =>
      api.getAllTools().map((info) => ({ ...info, ...sourceOf(info.extensionPath ?? "builtin") })),
    sendUserMessage: (content: UserText, settings?: PiUserMessageOptions) => {
      const { expandPromptTemplates, ...options } = settings ?? {};
      if (expandPromptTemplates === true)
        tell("expandPromptTemplates", "sends a text with expandPromptTemplates: the model gets it as it is");
      api.sendUserMessage(content, options);
    },
    sendMessage: (message: ExtensionMessage, settings?: SendMessageOptions) =>
      api.sendMessage({ ...message, display: message.display ?? true }, settings),
  }) as unknown as ExtensionAPI;
}

/** Where something comes from, as pi tells it. */
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

/** Renderers get pi's theme and options. */
function piRenderers(api: Renderers): Renderers {
  return {
    registerMessageRenderer: (customType, renderer) =>
      api.registerMessageRenderer(
        customType,
        typeof renderer !== "function"
          ? renderer
          : (message, options, theme) => {
              const more = { role: "custom", timestamp: 0, ...message };
              return renderer(more as never, { ...options, outputPad } as never, piTheme(theme));
            },
      ),
    registerEntryRenderer: (customType, renderer) =>
      api.registerEntryRenderer(
        customType,
        typeof renderer !== "function"
          ? renderer
          : (entry, options, theme) => renderer(entry as never, options, piTheme(theme)),
      ),
    registerTool: ((tool: ExtensionTool) => api.registerTool(withTheme(tool))) as Renderers["registerTool"],
  };
}

/** The tool's own renderers, with pi's theme. */
function withTheme(tool: ExtensionTool): ExtensionTool {
  const { renderCall, renderResult } = tool ?? {};
  const extra: Partial<ExtensionTool> = {};
  if (typeof renderCall === "function")
    extra.renderCall = (args, theme: Theme, context) =>
      renderCall.call(tool, args, piTheme(theme), { showImages: false, ...context } as typeof context);
  if (typeof renderResult === "function")
    extra.renderResult = (result, options, theme: Theme, context) =>
      renderResult.call(tool, result, options, piTheme(theme), {
        showImages: false,
        ...context,
      } as typeof context);
  return Object.keys(extra).length === 0 ? tool : (overlay(tool, extra) as ExtensionTool);
}
