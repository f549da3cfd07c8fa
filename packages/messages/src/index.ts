export { answerUsage } from "./answer-usage.ts";
export {
  byScript,
  byScriptEstimator,
  type CalibrateOptions,
  type Calibration,
  calibrate,
  calibratedEstimator,
} from "./by-script.ts";
export {
  CHANGE_ARGUMENTS,
  callParts,
  callText,
  PATH_ARGUMENTS,
  PATH_LIST_ARGUMENTS,
  SEARCH_ARGUMENTS,
} from "./call-text.ts";
export { shortened, textHead, textPart, textTail } from "./cut-text.ts";
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
  UNSEEN_TOKENS,
} from "./estimate.ts";
export { RECALL_TOOL, recalledIds, userContent } from "./frames.ts";
export { imageProblem } from "./image-file.ts";
export { fitPath, type LinePart, lineText } from "./line-text.ts";
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
export { tokenDigits, tokensText, usdColumn, usdText } from "./numbers.ts";
export { isOfProgram, isProgramText } from "./program-text.ts";
export { type QuotedFiles, quotedFiles } from "./quoted-files.ts";
export { type ReadableLine, readableLines, readableSummary } from "./readable-summary.ts";
export { isSecretName } from "./secret-rules.ts";
export { type SecretKind, type SecretShape, secretShapes } from "./secret-shapes.ts";
export {
  type RedactOptions,
  redactSecrets,
  SecretFilter,
  secretsOf,
  withoutRedactionMarks,
} from "./secrets.ts";
export { type SkillCall, skillCallIn, skillCallText, withoutSkill } from "./skill-call.ts";
export {
  bashExecutionText,
  contentBlocks,
  contentText,
  deepCopy,
  hiddenCharacters,
  isRecord,
  isTooDeep,
  jsonText,
  MAX_LEVELS,
  messageText,
  toolCalls,
  withoutReminders,
  withoutTerminalControls,
} from "./text.ts";
export {
  LeadingThinking,
  splitThinking,
  TAG_CHARS,
  type TextPiece,
  untaggedThinking,
  withoutThinking,
} from "./thinking-tags.ts";
export { askedText, saidText, typedLine, typedText } from "./typed-text.ts";
export {
  addUsage,
  type CacheRules,
  CostSum,
  contextTokens,
  costPhrase,
  costText,
  emptyUsage,
  isFreeModel,
  isPlausibleCount,
  type KnownCost,
  knownUsd,
  MAX_REQUEST_TOKENS,
  promptTokens,
  reportedUsage,
  type Usage,
  type UsageCost,
  usualCacheRules,
} from "./usage.ts";
