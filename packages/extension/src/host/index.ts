export type { ComponentKeybindings, ComponentTui } from "../api/drawing.ts";
export type {
  ArgumentCompletion,
  ExtensionCommandInfo,
  FlagOptions,
  HandlerOptions,
  ResourceCommandInfo,
  SendMessageOptions,
  SendUserMessageOptions,
} from "../api/extension-api.ts";
export type {
  AskOptions,
  CompactOptions,
  ExtensionMode,
  ModelContext,
  ModelRegistry,
  SessionContext,
  SessionProjection,
  SessionTreeNode,
} from "../api/extension-context.ts";
export type {
  CustomFactory,
  CustomOptions,
  DialogOptions,
  EditorComponent,
  FooterData,
} from "../api/extension-ui.ts";
export type { ProviderModelOptions } from "../api/provider-options.ts";
export { isModuleName, packageExtensions } from "../load/extension-entries.ts";
export { hostModules } from "../load/host-modules.ts";
export type { FindProblem } from "../load/package-manifest.ts";
export {
  allPackageResources,
  packageResources,
} from "../load/package-resources.ts";
export { INSTEAD, type ModuleExports, type VirtualModules } from "../load/virtual-modules.ts";
export { clipboardWriters, runClipboardProgram, writeClipboard } from "./clipboard.ts";
export type { ExtensionRenderers, ToolRenderer } from "./extension-drawing.ts";
export { lifecycleNotice, uncaughtErrorNotice } from "./extension-errors.ts";
export type {
  AdaptedExtension,
  ComponentPlace,
  DrawnComponent,
  EditorMaker,
  ExtensionAdapter,
  ExtensionHost,
  ExtensionModels,
  FrontEndDrawing,
  FrontEndUI,
  SessionControl,
} from "./extension-host.ts";
export { registerProvider } from "./extension-providers.ts";
export {
  type Extensions,
  loadExtensions,
  type ReloadOptions,
  type ReloadReport,
} from "./extensions.ts";
export {
  type FoundExtension,
  type FoundExtensions,
  findExtensions,
} from "./find-extensions.ts";
export { modelRegistryOf } from "./model-registry.ts";
export { sessionManagerOf } from "./session-manager.ts";
export type { LoadedExtension } from "./start-extension.ts";
export { streamProvider } from "./stream-provider.ts";
