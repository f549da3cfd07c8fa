export { byScript, byScriptEstimator } from "./by-script.ts";
export { type CalibrateOptions, type Calibration, calibrate, calibratedEstimator } from "./calibration.ts";
export { chars4, chars4Estimator, chars4FloorEstimator } from "./chars4.ts";
export {
  type AssistantContent,
  assistantContentSchema,
  type ImageContent,
  imageContentSchema,
  type TextContent,
  type ThinkingContent,
  type ToolCall,
  textContentSchema,
  thinkingContentSchema,
  toolCallSchema,
  type UserContent,
  userContentSchema,
} from "./content.ts";
export {
  type ContextTokens,
  type ContextTokensOptions,
  estimateContextTokens,
  isGoodAnswer,
} from "./context-tokens.ts";
export { BonsaiError, type BonsaiErrorOptions } from "./error.ts";
export { estimatorOf, IMAGE_TOKENS, type TokenEstimator } from "./estimate.ts";
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
export { messageSchema } from "./message-schema.ts";
export { type Model, type ModelPrices, modelSchema } from "./model.ts";
export { bashExecutionText, contentBlocks, contentText, messageText, toolCalls } from "./text.ts";
export {
  addUsage,
  contextTokens,
  emptyUsage,
  promptTokens,
  type Usage,
  type UsageCost,
  usageSchema,
} from "./usage.ts";
