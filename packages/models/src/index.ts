export { AnswerBuilder, MALFORMED_ARGUMENTS } from "./answer-builder.ts";
export type { ProviderLoader } from "./built-in-providers.ts";
export type { AddedModel, AddedProvider } from "./catalogue/added-providers.ts";
export {
  type Catalogue,
  type FindModelOptions,
  type LoadCatalogueOptions,
  loadCatalogue,
} from "./catalogue/catalogue.ts";
export type { ServerQuestion } from "./catalogue/server-question.ts";
export type { ServedModel, ServerSizes } from "./catalogue/server-window.ts";
export {
  defaultModel,
  type ProbeServer,
  type UsableModel,
  type UsableModelsOptions,
  usableModels,
  type WhyUnusableOptions,
  whyUnusable,
} from "./catalogue/usable-models.ts";
export {
  type CatalogueModel,
  type ProviderApi,
  type ProviderConfig,
  type ThinkingLevel,
  thinkingLevels,
} from "./catalogue-model.ts";
export type { RequestSize, TokenCounts } from "./counted-tokens.ts";
export { EMPTY_ANSWER, type FailureKind, type ModelFailure } from "./failure.ts";
export { type FileKeysOptions, fileKeys, type KeyNotice } from "./file-keys.ts";
export type { KeyFile, KeyOrigin, KeySource } from "./keys.ts";
export type { NamedSecret } from "./known-secrets.ts";
export { ModelClient, type ModelClientOptions } from "./model-client.ts";
export type { ModelCompat } from "./model-compat.ts";
export type { ModelRequest, ProviderResponse, RequestPurpose, ToolDeclaration } from "./model-request.ts";
export { nearest } from "./nearest.ts";
export type { ModelNotice } from "./notice.ts";
export { type AskedTokens, type ClassifyOptions, classifyFailure } from "./overflow/classify-failure.ts";
export {
  type Provider,
  type ProviderCall,
  ProviderError,
  type ProviderErrorKind,
  type ProviderErrorOptions,
} from "./provider.ts";
export { isReachable } from "./reachable.ts";
export type { Repair, RepairKind } from "./repair/repair.ts";
export {
  type RepairedMessages,
  type RepairMessagesOptions,
  repairMessages,
} from "./repair/repair-messages.ts";
export { defaultRetryPolicy, type RetryPolicy } from "./retry.ts";
export type {
  Scenario,
  ScenarioAnswer,
  ScenarioCall,
  ScenarioCondition,
  ScriptedModel,
} from "./scripted/scenario.ts";
export { scenarioModel } from "./scripted/scenario-file.ts";
export { scriptedProvider } from "./scripted/scripted.ts";
export { type FinalEvent, finalEvent, type StreamEvent } from "./stream-event.ts";
