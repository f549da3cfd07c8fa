import type { ProviderApi } from "./catalogue-model.ts";
import type { Provider } from "./provider.ts";

/** Makes what speaks a protocol. */
export type ProviderLoader = () => Promise<Provider>;

/** The protocols that Bonsai speaks by itself. The SDKs are large: each is loaded when it is first used. */
export const builtInProviders: Readonly<Record<Exclude<ProviderApi, "extension">, ProviderLoader>> = {
  "anthropic-messages": async () => (await import("./anthropic/anthropic.ts")).anthropicProvider(),
  "openai-responses": async () => (await import("./openai/openai-responses.ts")).openaiResponsesProvider(),
  "openai-chat": async () => (await import("./openai/openai-chat.ts")).openaiChatProvider(),
  scripted: async () => (await import("./scripted/scenario-file.ts")).scenarioProvider(),
};
