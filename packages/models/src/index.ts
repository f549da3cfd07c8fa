export { AnswerBuilder, MALFORMED_ARGUMENTS, type TokenCounts } from "./answer-builder.ts";
export {
  type CatalogueModel,
  type ProviderApi,
  type ProviderConfig,
  type ThinkingLevel,
  thinkingLevels,
} from "./catalogue-model.ts";
export { usageCost } from "./cost.ts";
export type { FailureKind, ModelFailure } from "./failure.ts";
export type { KeySource } from "./keys.ts";
export { ModelClient, type ModelClientOptions } from "./model-client.ts";
export type { ModelRequest, ProviderResponse, RequestPurpose, ToolDeclaration } from "./model-request.ts";
export type { ModelNotice } from "./notice.ts";
export {
  type Provider,
  type ProviderCall,
  ProviderError,
  type ProviderErrorKind,
  type ProviderErrorOptions,
} from "./provider.ts";
export type { Repair, RepairKind } from "./repair.ts";
export { defaultRetryPolicy, type RetryPolicy } from "./retry.ts";
export type { Scenario, ScenarioAnswer, ScriptedModel } from "./scenario.ts";
export { scriptedProvider } from "./scripted.ts";
export { type FinalEvent, finalEvent, type StreamEvent } from "./stream-event.ts";
