export {
  byScript,
  byScriptEstimator,
  type Calibration,
  calibrate,
} from "./count/by-script.ts";
export {
  answerUsage,
  type ContextTokens,
  chars4,
  chars4Estimator,
  chars4FloorEstimator,
  estimateContextTokens,
  IMAGE_TOKENS,
  isGoodAnswer,
  type TokenEstimator,
  UNSEEN_TOKENS,
} from "./count/estimate.ts";
export { BonsaiError, type BonsaiErrorOptions, messageOf } from "./error.ts";
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
export {
  clip,
  fitPath,
  isClipOf,
  type LinePart,
  lineText,
  shortened,
  textHead,
  textPart,
  textTail,
} from "./text/cut-text.ts";
export { RECALL_TOOL, recalledIds, userContent } from "./text/frames.ts";
export { tokenDigits, tokensText, usdColumn, usdText } from "./text/numbers.ts";
export { readableLines, readableSummary } from "./text/readable-summary.ts";
export { isSecretName } from "./text/secret-rules.ts";
export {
  redactSecrets,
  SecretFilter,
  secretsOf,
  withoutRedactionMarks,
} from "./text/secrets.ts";
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
  untaggedThinking,
  withoutThinking,
} from "./text/thinking-tags.ts";
export {
  askedText,
  isOfProgram,
  isProgramText,
  type QuotedFiles,
  quotedFiles,
  saidText,
  skillCallIn,
  skillCallText,
  typedLine,
  typedText,
  withoutSkill,
} from "./text/typed-text.ts";
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
