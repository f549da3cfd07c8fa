export { AnswerBuilder } from "./answer-builder.ts";
export { type Catalogue, loadCatalogue } from "./catalogue/catalogue.ts";
export type { AddedModel, AddedProvider } from "./catalogue/catalogue-data.ts";
export { defaultModel, type UsableModel, usableModels } from "./catalogue/usable-models.ts";
export { defaultRetryPolicy, type RetryPolicy } from "./exchange/attempts.ts";
export { classifyFailure } from "./failure/classify.ts";

export { fileKeys, type KeyFile, type KeySource } from "./keys/keys.ts";
export {
  type CatalogueModel,
  isReachable,
  type ModelCompat,
  type ProviderApi,
  type ProviderConfig,
  referenceOf,
  type ThinkingLevel,
  thinkingLevels,
} from "./model.ts";
export { finalEvent, ModelClient, type ModelClientOptions } from "./model-client.ts";
export type {
  FailureKind,
  FinalEvent,
  ModelFailure,
  ModelNotice,
  ModelRequest,
  RequestPurpose,
  StreamEvent,
  TokenCounts,
  ToolDeclaration,
} from "./model-request.ts";
export {
  type OpenAiConnect,
  type Provider,
  type ProviderCall,
  ProviderError,
  type ProviderErrorOptions,
} from "./provider.ts";
export { thinkingLevelsOf } from "./thinking.ts";
