export { globMatcher, type LifecycleEvents, type SessionStartReason } from "@bonsai-agent/agent";
export {
  type BeforeCompact,
  type BeforeCompactResult,
  type BranchSummary,
  type CompactionEvents,
  type CompactionOutcome,
  type CompactionPreparation,
  type CompactionReason,
  type CompactionSettings,
  type CustomCompaction,
  digestSummariser,
  type FileOperations,
  fileOperations,
  type SummariseEntriesOptions,
  type SummarisePreparationOptions,
  type Summariser,
  type SummaryAnswer,
  type SummaryKind,
  type SummaryRequest,
  summariseEntries,
  summarisePreparation,
  type TreePreparation,
} from "@bonsai-agent/compaction";
export type { HandlerPayload, PayloadOf, ResultOf } from "@bonsai-agent/lifecycle";
export {
  type AssistantContent,
  type AssistantMessage,
  authorizationPattern,
  BonsaiError,
  type BonsaiErrorOptions,
  byScriptEstimator,
  contentText,
  type ImageContent,
  type Message,
  type MessageRole,
  messageText,
  type SecretKind,
  type SecretShape,
  type StopReason,
  secretShapes,
  type TextContent,
  type TokenEstimator,
  type ToolCall,
  type ToolResultMessage,
  toolCalls,
  type Usage,
  type UserContent,
  type UserMessage,
} from "@bonsai-agent/messages";
export type { CatalogueModel, StreamEvent, ThinkingLevel, ToolDeclaration } from "@bonsai-agent/models";
export type {
  BranchSummaryEntry,
  CompactionEntry,
  CustomEntry,
  Entry,
  EntryType,
  MessageEntry,
  SessionHeader,
} from "@bonsai-agent/session";
export { convertToLlm, type LlmMessage, serializeConversation } from "./api/conversation.ts";
export type {
  Component,
  ComponentKeybindings,
  ComponentTui,
  EntryRenderer,
  ExtensionMessage,
  MessageRenderer,
  RenderOptions,
  Theme,
  ThemeBg,
  ThemeColor,
  ToolRenderContext,
  ToolRenderOptions,
} from "./api/drawing.ts";
export {
  type ArgumentCompletion,
  type CommandInfo,
  type CommandOptions,
  type EventBus,
  type ExecOptions,
  type ExecResult,
  type ExtensionAPI,
  type ExtensionFactory,
  type ExtensionHandler,
  type FlagOptions,
  type FlagValue,
  type HandlerOptions,
  lifecycleEventNames,
  type SendMessageOptions,
  type SendUserMessageOptions,
  type ShortcutOptions,
} from "./api/extension-api.ts";
export type {
  AskOptions,
  CompactOptions,
  ExtensionCommandContext,
  ExtensionContext,
  ExtensionContextUsage,
  ExtensionMode,
  ModelContext,
  ModelRegistry,
  NavigateOptions,
  ReadonlySessionManager,
  RequestAuth,
  SessionTreeNode,
} from "./api/extension-context.ts";
export {
  defineTool,
  type ExtensionTool,
  type ExtensionToolResult,
  type ToolInfo,
  type ToolInput,
  type ToolParameters,
} from "./api/extension-tool.ts";
export type {
  ComponentFactory,
  CustomFactory,
  CustomOptions,
  DialogOptions,
  ExtensionUI,
  FooterData,
  FooterFactory,
  NotificationType,
  OverlayOptions,
  WidgetOptions,
} from "./api/extension-ui.ts";
export type { ProviderModelOptions, ProviderOptions, ProviderStreamRequest } from "./api/provider-options.ts";
export type { DrawnComponent } from "./host/drawn-component.ts";
export { lifecycleNotice, strayErrorNotice } from "./host/extension-errors.ts";
export type {
  AdaptedExtension,
  ComponentPlace,
  ExtensionAdapter,
  ExtensionHost,
  ExtensionModels,
  FrontEndDrawing,
  FrontEndUI,
  SessionControl,
} from "./host/extension-host.ts";
export type { ExtensionRenderers, ToolRenderer } from "./host/extension-renderers.ts";
export type {
  Extensions,
  FailedExtension,
  InlineExtension,
  LoadExtensionsOptions,
  LoadedExtension,
  ReloadOptions,
  ReloadReport,
} from "./host/extensions.ts";
export { type FindExtensionsOptions, findExtensions } from "./host/find-extensions.ts";
export { loadExtensions } from "./host/running-extensions.ts";
export { sessionManagerOf } from "./host/session-manager.ts";
export { type Installation, type InstallPackageOptions, installPackage } from "./install/install-package.ts";
export {
  type InstalledPackage,
  type InstalledPackages,
  installedPackages,
} from "./install/package-records.ts";
export { type RemovePackageOptions, removePackage } from "./install/remove-package.ts";
export {
  type Entries,
  type ExtensionOrigin,
  type FindProblem,
  type FoundExtension,
  type FoundExtensions,
  packageExtensions,
} from "./load/extension-entries.ts";
export { hostModules } from "./load/host-modules.ts";
export { type ImportExtensionOptions, importExtension } from "./load/import-extension.ts";
export { INSTEAD, type ModuleExports, type VirtualModules } from "./load/virtual-modules.ts";
export { type ShellCommand, type ShellRedirect, shellCommands } from "./shell/shell-commands.ts";
export type { ShellWord } from "./shell/shell-word.ts";
