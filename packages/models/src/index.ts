export { AnswerBuilder } from "./answer-builder.ts";
export { type Catalogue, loadCatalogue } from "./catalogue/catalogue.ts";
export type { AddedProvider } from "./catalogue/catalogue-data.ts";
export { defaultModel, type UsableModel, usableModels } from "./catalogue/usable-models.ts";
export { defaultRetryPolicy } from "./exchange/attempts.ts";
export { classifyFailure } from "./failure/classify.ts";

export { KeyFile } from "./keys/keys.ts";
export {
  type CatalogueModel,
  isReachable,
  type ProviderApi,
  type ProviderConfig,
  referenceOf,
  type ThinkingLevel,
  thinkingLevels,
} from "./model.ts";
export { finalEvent, ModelClient } from "./model-client.ts";
export type {
  FinalEvent,
  ModelFailure,
  ModelNotice,
  ModelRequest,
  StreamEvent,
  ToolDeclaration,
} from "./model-request.ts";
export { type Provider, type ProviderCall, ProviderError } from "./provider.ts";
export { thinkingLevelsOf } from "./thinking.ts";
