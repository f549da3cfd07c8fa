import type {
  AdaptedExtension,
  ExtensionAPI,
  ExtensionMessage,
  SendMessageOptions,
  SendUserMessageOptions,
} from "@bonsai-agent/extension";
import { PiListening } from "../events/pi-listening.ts";
import type { PromptEvents } from "../events/prompt-events.ts";
import { bonsaiModel, type GivenModel } from "../models/pi-model.ts";
import { overlay } from "../overlay.ts";
import type { Tell } from "./once-told.ts";
import { bonsaiProvider, type PiProvider } from "./pi-provider.ts";
import { piRenderers } from "./pi-renderers.ts";

export interface PiApiOptions {
  extension: AdaptedExtension;
  /** Of an extension that was written for pi: it gets pi's shapes also where ours mean something else. */
  isForPi: boolean;
  prompts: PromptEvents;
  tell: Tell;
}

type UserText = Parameters<ExtensionAPI["sendUserMessage"]>[0];
type PiUserMessageOptions = SendUserMessageOptions & { expandPromptTemplates?: boolean };

/** An API object with pi's names laid over it. */
export function piApi(api: ExtensionAPI, options: PiApiOptions): ExtensionAPI {
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
