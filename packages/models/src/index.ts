export { AnswerBuilder } from "./answer-builder.ts";
export { isWithheld } from "./answer-end.ts";
export { anthropicThinking } from "./anthropic/anthropic-thinking.ts";
export { argumentsProblem, MALFORMED_ARGUMENTS } from "./call-arguments.ts";
export { Catalogue, loadCatalogue } from "./catalogue/catalogue.ts";
export type { AddedModel, AddedProvider } from "./catalogue/catalogue-data.ts";
export { defaultModel, type UsableModel, usableModels, whyUnusable } from "./catalogue/usable-models.ts";
export { defaultRetryPolicy, type RetryPolicy } from "./exchange/retry.ts";
export { type ClassifyOptions, classifyFailure, type RefusedRequest } from "./failure/classify.ts";
export { EMPTY_ANSWER, type FailureKind, type ModelFailure } from "./failure/failure.ts";
export {
  type FileKeysOptions,
  type FreshKeyOptions,
  fileKeys,
  isReachable,
  type KeyFile,
  type KeyNotice,
  type KeyOrigin,
  type KeySource,
} from "./keys/keys.ts";
export { Logins } from "./keys/login-registry.ts";
export type {
  DeviceCodeInfo,
  LoginCallbacks,
  LoginCredentials,
  LoginPrompt,
  LoginState,
  Logout,
  ProviderLogin,
} from "./keys/provider-login.ts";
export { knownSecrets, type NamedSecret } from "./keys/secrets.ts";
export {
  type CatalogueModel,
  isOwnAnswer,
  type ModelCompat,
  type ProviderApi,
  type ProviderConfig,
  referenceOf,
  shownAddress,
  type ThinkingLevel,
  thinkingLevels,
} from "./model.ts";
export { ModelClient, type ModelClientOptions, type ProviderLoader } from "./model-client.ts";
export {
  type FinalEvent,
  finalEvent,
  type ModelNotice,
  type ModelRequest,
  type ProviderResponse,
  type RequestPurpose,
  type RequestSize,
  type StreamEvent,
  type TokenCounts,
  type ToolDeclaration,
} from "./model-request.ts";
export { wireCallId } from "./openai/openai-content.ts";
export {
  type OpenAiClient,
  type OpenAiClientSettings,
  type OpenAiConnect,
  type Provider,
  type ProviderCall,
  ProviderError,
  type ProviderErrorKind,
  type ProviderErrorOptions,
} from "./provider.ts";
export { isRefusedImageLine } from "./repair/refused-images.ts";
export type { Repair, RepairKind } from "./repair/repair.ts";
export { type RepairedMessages, type RepairMessagesOptions, repairMessages } from "./repair/repair-calls.ts";
export type {
  Scenario,
  ScenarioAnswer,
  ScenarioCall,
  ScenarioCondition,
  ScriptedModel,
} from "./scripted/scenario.ts";
export { scenarioModel } from "./scripted/scenario-file.ts";
export { scriptedProvider } from "./scripted/scripted.ts";
export {
  type AskedThinking,
  askedThinking,
  nextThinkingLevel,
  thinkingLevelsOf,
  withThinkingField,
} from "./thinking.ts";
export { retryAfterMs, wireToolName } from "./wire.ts";
