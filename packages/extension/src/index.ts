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
export type { ArgumentCompletion, CommandInfo, CommandOptions } from "./api/command.ts";
export type { Component, ComponentKeybindings, ComponentTui } from "./api/component.ts";
export type { EventBus } from "./api/event-bus.ts";
export type { ExecOptions, ExecResult } from "./api/exec.ts";
export type {
  ExtensionAPI,
  ExtensionFactory,
  ExtensionHandler,
  HandlerOptions,
  SendMessageOptions,
  SendUserMessageOptions,
} from "./api/extension-api.ts";
export type {
  CompactOptions,
  ExtensionCommandContext,
  ExtensionContext,
  ExtensionContextUsage,
  ExtensionMode,
  NavigateOptions,
} from "./api/extension-context.ts";
export type { ExtensionMessage } from "./api/extension-message.ts";
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
export type { FlagOptions, FlagValue } from "./api/flag.ts";
export { lifecycleEventNames } from "./api/lifecycle-event-names.ts";
export type { AskOptions, ModelContext, ModelRegistry, RequestAuth } from "./api/model-registry.ts";
export type { ProviderModelOptions, ProviderOptions, ProviderStreamRequest } from "./api/provider-options.ts";
export type {
  EntryRenderer,
  MessageRenderer,
  RenderOptions,
  ToolRenderContext,
  ToolRenderOptions,
} from "./api/renderer.ts";
export type { ReadonlySessionManager, SessionTreeNode } from "./api/session-manager.ts";
export type { ShortcutOptions } from "./api/shortcut.ts";
export type { Theme, ThemeBg, ThemeColor } from "./api/theme.ts";
export { type Installation, type InstallPackageOptions, installPackage } from "./install/install-package.ts";
export {
  type InstalledPackage,
  type InstalledPackages,
  installedPackages,
} from "./install/installed-packages.ts";
export { type RemovePackageOptions, removePackage } from "./install/remove-package.ts";
export type { Entries } from "./load/entries.ts";
export { packageExtensions } from "./load/extension-entries.ts";
export { type FindExtensionsOptions, findExtensions } from "./load/find-extensions.ts";
export type {
  ExtensionOrigin,
  FindProblem,
  FoundExtension,
  FoundExtensions,
} from "./load/found-extension.ts";
export { hostModules } from "./load/host-modules.ts";
export { type ImportExtensionOptions, importExtension } from "./load/import-extension.ts";
export { INSTEAD, type ModuleExports, type VirtualModules } from "./load/virtual-modules.ts";
export { sessionManagerOf } from "./run/context/session-manager.ts";
export type { DrawnComponent } from "./run/drawn-component.ts";
export { lifecycleNotice, strayErrorNotice } from "./run/extension-errors.ts";
export type {
  AdaptedExtension,
  ExtensionAdapter,
  ExtensionHost,
  ExtensionModels,
  SessionControl,
} from "./run/extension-host.ts";
export type { ExtensionRenderers, ToolRenderer } from "./run/extension-renderers.ts";
export type {
  Extensions,
  FailedExtension,
  InlineExtension,
  LoadExtensionsOptions,
  LoadedExtension,
  ReloadOptions,
  ReloadReport,
} from "./run/extensions.ts";
export type { ComponentPlace, FrontEndDrawing, FrontEndUI } from "./run/front-end-ui.ts";
export { loadExtensions } from "./run/load-extensions.ts";
export { type ShellCommand, type ShellRedirect, shellCommands } from "./shell/shell-commands.ts";
export type { ShellWord } from "./shell/shell-word.ts";
export { convertToLlm, type LlmMessage } from "./summary/convert-to-llm.ts";
export { serializeConversation } from "./summary/serialize-conversation.ts";
