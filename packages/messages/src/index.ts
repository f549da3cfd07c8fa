export { byScript, byScriptEstimator } from "./by-script.ts";
export { type CalibrateOptions, type Calibration, calibrate, calibratedEstimator } from "./calibration.ts";
export { BonsaiError, type BonsaiErrorOptions } from "./error.ts";
export {
  type ContextTokens,
  type ContextTokensOptions,
  chars4,
  chars4Estimator,
  chars4FloorEstimator,
  estimateContextTokens,
  estimatorOf,
  IMAGE_TOKENS,
  isGoodAnswer,
  type TokenEstimator,
} from "./estimate.ts";
export type {
  AssistantContent,
  AssistantMessage,
  BashExecutionMessage,
  BranchSummaryMessage,
  CompactionSummaryMessage,
  CustomMessage,
  ImageContent,
  Message,
  MessageRole,
  Model,
  ModelPrices,
  StopReason,
  SystemMessage,
  TextContent,
  ThinkingContent,
  ToolCall,
  ToolResultMessage,
  UserContent,
  UserMessage,
} from "./message.ts";
export { authorizationPattern, type SecretKind, type SecretShape, secretShapes } from "./secret-shapes.ts";
export {
  bashExecutionText,
  contentBlocks,
  contentText,
  deepCopy,
  isTooDeep,
  jsonText,
  MAX_LEVELS,
  messageText,
  toolCalls,
  withoutTerminalControls,
} from "./text.ts";
export {
  addUsage,
  CostSum,
  contextTokens,
  costText,
  emptyUsage,
  isPlausibleCount,
  type KnownCost,
  knownUsd,
  MAX_REQUEST_TOKENS,
  promptTokens,
  type Usage,
  type UsageCost,
  usdText,
} from "./usage.ts";
