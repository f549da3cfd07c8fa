export {
  anthropicThinking,
  ProviderError,
  type ProviderErrorOptions,
  retryAfterMs,
} from "@bonsai-agent/models";
export { type ProviderTurn, providerTurns, type ResultPart } from "./provider-turns.ts";
