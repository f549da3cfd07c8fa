export { anthropicThinking, retryAfterMs } from "@bonsai-agent/models/host";
export { type ProviderTurn, providerTurns, type ResultPart } from "./provider-turns.ts";
