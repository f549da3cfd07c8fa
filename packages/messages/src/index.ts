export { answerUsage } from "./answer-usage.ts";
export {
  byScript,
  byScriptEstimator,
  type CalibrateOptions,
  type Calibration,
  calibrate,
  calibratedEstimator,
} from "./count/by-script.ts";
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
} from "./count/estimate.ts";
export { BonsaiError, type BonsaiErrorOptions } from "./error.ts";
export { imageProblem } from "./image-file.ts";
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
export {
  CHANGE_ARGUMENTS,
  callParts,
  callText,
  PATH_ARGUMENTS,
  PATH_LIST_ARGUMENTS,
  SEARCH_ARGUMENTS,
} from "./text/call-text.ts";
export { clip, isClipOf, shortened, textHead, textPart, textTail } from "./text/cut-text.ts";
export { RECALL_TOOL, recalledIds, userContent } from "./text/frames.ts";
export { fitPath, type LinePart, lineText } from "./text/line-text.ts";
export { tokenDigits, tokensText, usdColumn, usdText } from "./text/numbers.ts";
export { isOfProgram, isProgramText } from "./text/program-text.ts";
export { type QuotedFiles, quotedFiles } from "./text/quoted-files.ts";
export { type ReadableLine, readableLines, readableSummary } from "./text/readable-summary.ts";
export { isSecretName } from "./text/secret-rules.ts";
export { type SecretKind, type SecretShape, secretShapes } from "./text/secret-shapes.ts";
export {
  type RedactOptions,
  redactSecrets,
  SecretFilter,
  secretsOf,
  withoutRedactionMarks,
} from "./text/secrets.ts";
export { type SkillCall, skillCallIn, skillCallText, withoutSkill } from "./text/skill-call.ts";
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
} from "./text/text.ts";
export {
  LeadingThinking,
  splitThinking,
  TAG_CHARS,
  type TextPiece,
  untaggedThinking,
  withoutThinking,
} from "./text/thinking-tags.ts";
export { askedText, saidText, typedLine, typedText } from "./text/typed-text.ts";
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
