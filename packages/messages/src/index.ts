export { byScript, byScriptEstimator } from "./by-script.ts";
export { type CalibrateOptions, type Calibration, calibrate, calibratedEstimator } from "./calibration.ts";
export { chars4, chars4Estimator, chars4FloorEstimator } from "./chars4.ts";
export type {
  AssistantContent,
  ImageContent,
  TextContent,
  ThinkingContent,
  ToolCall,
  UserContent,
} from "./content.ts";
export {
  type ContextTokens,
  type ContextTokensOptions,
  estimateContextTokens,
  isGoodAnswer,
} from "./context-tokens.ts";
export { BonsaiError, type BonsaiErrorOptions } from "./error.ts";
export { estimatorOf, IMAGE_TOKENS, type TokenEstimator } from "./estimate.ts";
export { CostSum, costText, type KnownCost, knownUsd, usdText } from "./known-cost.ts";
export type {
  AssistantMessage,
  BashExecutionMessage,
  BranchSummaryMessage,
  CompactionSummaryMessage,
  CustomMessage,
  Message,
  MessageRole,
  StopReason,
  SystemMessage,
  ToolResultMessage,
  UserMessage,
} from "./message.ts";
export type { Model, ModelPrices } from "./model.ts";
export { deepCopy, isTooDeep, MAX_LEVELS } from "./nesting.ts";
export { authorizationPattern, type SecretKind, type SecretShape, secretShapes } from "./secret-shapes.ts";
export {
  bashExecutionText,
  contentBlocks,
  contentText,
  jsonText,
  messageText,
  toolCalls,
  withoutTerminalControls,
} from "./text.ts";
export {
  addUsage,
  contextTokens,
  emptyUsage,
  isPlausibleCount,
  MAX_REQUEST_TOKENS,
  promptTokens,
  type Usage,
  type UsageCost,
} from "./usage.ts";
