export {
  MAX_RESULT_BYTES,
  MAX_RESULT_LINES,
  maskKeys,
  outputFolder,
} from "@bonsai-agent/agent";
export { environmentKeys, fitArguments, globMatcher } from "@bonsai-agent/agent/host";
export {
  type CompactionPreparation,
  type CompactionReason,
  digestSummariser,
  fileOperations,
  type Summariser,
  summariseEntries,
  summarisePreparation,
} from "@bonsai-agent/compaction";
export {
  type AssistantMessage,
  BonsaiError,
  type Message,
  messageText,
  redactSecrets,
  shortened,
  textHead,
  tokenEstimator,
  type Usage,
} from "@bonsai-agent/messages";
export {
  imageProblem,
  isSecretName,
  raceAbort,
  textTail,
  withoutTerminalControls,
} from "@bonsai-agent/messages/host";
export { type CatalogueModel, ProviderError, type StreamEvent } from "@bonsai-agent/models";
export { type BranchSummaryEntry, bonsaiHome, type Entry } from "@bonsai-agent/session";
export { convertToLlm, serializeConversation } from "./api/conversation.ts";
export type {
  Component,
  ExtensionMessage,
  Theme,
  ToolRenderContext,
} from "./api/drawing.ts";
export {
  type ExecResult,
  type ExtensionAPI,
  type ExtensionFactory,
  type FlagValue,
  lifecycleEventNames,
} from "./api/extension-api.ts";
export type { ExtensionCommandContext, ExtensionContext } from "./api/extension-context.ts";
export { defineTool, type ExtensionTool, type ExtensionToolResult } from "./api/extension-tool.ts";
export type { ExtensionUI } from "./api/extension-ui.ts";
export type {
  ProviderAnswer,
  ProviderOptions,
  ProviderStreamRequest,
} from "./api/provider-options.ts";
export { type RunningProgram, startProgram } from "./host/running-program.ts";
