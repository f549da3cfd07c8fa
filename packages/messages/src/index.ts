export { estimateTokens, tokenEstimator } from "./count/by-script.ts";
export {
  type Calibration,
  type ContextTokens,
  calibrate,
  chars4Estimator,
  estimateContextTokens,
  IMAGE_TOKENS,
  type TokenEstimator,
} from "./count/estimate.ts";
export { BonsaiError, messageOf } from "./error.ts";
export type {
  AssistantContent,
  AssistantMessage,
  BashExecutionMessage,
  CustomMessage,
  ImageContent,
  Message,
  Model,
  ModelPrices,
  ProviderSummary,
  StopReason,
  TextContent,
  ToolCall,
  ToolResultMessage,
  UserContent,
  UserMessage,
} from "./message.ts";
export { callParts } from "./text/call-text.ts";
export { readableSummary } from "./text/readable-summary.ts";
export { redactSecrets, SecretFilter } from "./text/secrets.ts";
export {
  callsIn,
  contentBlocks,
  contentText,
  isRecord,
  jsonText,
  messageText,
  shortened,
  textHead,
} from "./text/text.ts";
export { saidText, typedText } from "./text/typed-text.ts";
export {
  addUsage,
  type CacheLifetime,
  type CacheRules,
  CostSum,
  contextTokens,
  costPhrase,
  costText,
  emptyUsage,
  inputTokens,
  isFreeModel,
  type KnownCost,
  knownUsd,
  type Usage,
  usualCacheRules,
} from "./usage.ts";
