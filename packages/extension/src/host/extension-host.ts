import type { Agent, AgentNotice, ConfirmPath, LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { Catalogue, CatalogueModel, KeyFile, ModelClient } from "@bonsai-agent/models";
import type { CustomEntry, Session } from "@bonsai-agent/session";
import type { Component, ComponentKeybindings, ComponentTui, Theme } from "../api/drawing.ts";
import type { ExtensionAPI, FlagValue, ResourceCommandInfo } from "../api/extension-api.ts";
import type {
  ExtensionContext,
  ExtensionMode,
  MergeOptions,
  MergeResult,
  NavigateOptions,
} from "../api/extension-context.ts";
import type {
  AutocompleteProvider,
  CustomOptions,
  EditorComponent,
  EditorTheme,
  ExtensionUI,
  FooterData,
  WidgetOptions,
  WorkingIndicator,
} from "../api/extension-ui.ts";
import type { VirtualModules } from "../load/virtual-modules.ts";

/** The host's models, keys and client. */
export interface ExtensionModels {
  catalogue: Catalogue;
  keys: KeyFile;
  client: ModelClient;
}

/** Switches sessions and entries. Each call resolves with false if nothing happened. */
export interface SessionControl {
  newSession(options: { parentSession?: string }): Promise<boolean>;
  fork(entryId: string, options: { position: "before" | "at" }): Promise<boolean>;
  switchSession(sessionPath: string): Promise<boolean>;
  navigateTree(targetId: string, options: NavigateOptions): Promise<boolean>;
  mergeBranch(branchId: string, options: MergeOptions): Promise<MergeResult>;
}

/** The front end, for its extensions. Read it when needed: sessions change. */
export interface ExtensionHost {
  readonly mode: ExtensionMode;
  readonly cwd: string;
  readonly lifecycle: Lifecycle<LifecycleEvents>;
  /** Default: no user, and notifications become notices. */
  readonly ui?: FrontEndUI | undefined;
  /** Undefined before a session is open. */
  session(): Session | undefined;
  /** Undefined in the session commands. */
  agent(): Agent | undefined;
  /** The current model without an agent. */
  model?(): CatalogueModel | undefined;
  /** Opened when an extension first asks. */
  models(): Promise<ExtensionModels>;
  /** Default: commands cannot switch sessions and entries. */
  readonly control?: SessionControl | undefined;
  /** Ends the program after the current work. */
  shutdown(): void;
  isProjectTrusted(): boolean;
  /** The value of a flag on the command line. */
  flag(name: string): FlagValue | undefined;
  /** The known templates and skills that a prompt can call. Default: none. */
  resourceCommands?(): readonly ResourceCommandInfo[];
  /** Must not throw. */
  onNotice(notice: AgentNotice): void;
  /** Asks about a path outside of the project for an extension's tool. Default: does not ask. */
  readonly confirmPath?: ConfirmPath | undefined;
  /** Called after a reload, to read the extensions' resources again. Default: nothing. */
  onReload?(signal: AbortSignal): Promise<void>;
  /** Called with each entry that an extension appends. Default: nothing. */
  onEntry?(entry: CustomEntry): void;
}

/** An extension, for an adapter. */
export interface AdaptedExtension {
  /** Absolute path of the entry module. */
  readonly path: string;
  /** Its name in notices. */
  readonly name: string;
  /** The program that runs it. */
  readonly host: ExtensionHost;
  /** The host modules that the extension can import. */
  readonly modules: VirtualModules;
  /** Runs `undo` when the extension is unloaded. The function returned runs it at once. */
  keep(undo: () => void): () => void;
  onNotice(notice: AgentNotice): void;
  /** Reports a failed registration; the rest of the extension works. */
  notifyRefused(error: unknown): void;
  /**
   * Runs the command of a text, as if the user had typed it, without waiting; a failure is a notice. During a handler
   * or tool that the agent waits for, the command waits for the agent. Returns false if the text calls no command.
   */
  runCommand(text: string): boolean;
  /** Asks about a path outside of the project, as for built-in tools. */
  readonly confirmPath: ConfirmPath;
}

/** Changes the API for extensions of another agent. */
export interface ExtensionAdapter {
  /** Returns the API for the extension's function. */
  api?(api: ExtensionAPI, extension: AdaptedExtension): ExtensionAPI;
  /** Returns the context for its handlers, tools and commands. */
  context?<Context extends ExtensionContext>(context: Context, extension: AdaptedExtension): Context;
}

/** A component of an extension, for a front end. Never throws. */
export interface DrawnComponent {
  /** Undefined after a failure, and after its extension was unloaded. */
  render(width: number): string[] | undefined;
  handleInput(data: string): void;
  invalidate(): void;
  dispose(): void;
  focused: boolean;
  /** True if it also wants key releases. */
  readonly wantsKeyRelease: boolean;
  /** The extension's own object. */
  readonly component: Component;
}

export interface ComponentPlace<Value> {
  tui: ComponentTui;
  keybindings: ComponentKeybindings;
  /** Closes the component; a second call does nothing. */
  done(value: Value | undefined): void;
}

/** Makes an extension's editor. `onFailure` is called after a failed editor was removed. */
export interface EditorMaker {
  make(place: { tui: ComponentTui; keybindings: ComponentKeybindings; theme: EditorTheme }): EditorComponent;
  onFailure(error: unknown): void;
}

/** The functions of a front end that draws components. The receiver of a component disposes of it. */
export interface FrontEndDrawing {
  readonly theme: Theme;
  /** Shows a component until it is done. @returns undefined if it was closed otherwise */
  custom<Value>(
    make: (place: ComponentPlace<Value>) => DrawnComponent | Promise<DrawnComponent>,
    options: CustomOptions,
  ): Promise<Value | undefined>;
  /** Replaces the lines of `setWidget`, which also removes it. */
  showWidget(key: string, make: (tui: ComponentTui) => DrawnComponent, options?: WidgetOptions): void;
  setFooter(make: ((tui: ComponentTui, data: FooterData) => DrawnComponent) | undefined): void;
  setHeader(make: ((tui: ComponentTui) => DrawnComponent) | undefined): void;
  setWorkingMessage(message: string | undefined): void;
  setWorkingIndicator(indicator: WorkingIndicator | undefined): void;
  setWorkingVisible(isVisible: boolean): void;
  setHiddenThinkingLabel(label: string | undefined): void;
  /** Replaces the editor; undefined restores the program's. A failure keeps the text. */
  setEditor(maker: EditorMaker | undefined): void;
  /** A provider that throws is not called again. @returns a function that removes it */
  addAutocompleteProvider(
    make: (current: AutocompleteProvider) => AutocompleteProvider,
    onFailure: (error: unknown) => void,
  ): () => void;
  /** The handler never throws. @returns a function that removes it */
  onTerminalInput(handler: (data: string) => { consume?: boolean; data?: string } | undefined): () => void;
  /** Undefined restores the user's theme. */
  setTheme(theme: string | Theme | undefined): void;
  /** True if `setTheme` accepts the name. */
  hasTheme(name: string): boolean;
  getAllThemes(): { name: string; path: string | undefined }[];
  getTheme(name: string): Theme | undefined;
  getToolsExpanded(): boolean;
  setToolsExpanded(isExpanded: boolean): void;
  /** Draws an appended entry if it has a renderer. */
  showEntry(entry: CustomEntry): void;
}

/** A front end's user interface for extensions. Absent drawing functions have no effect. */
export interface FrontEndUI
  extends Omit<ExtensionUI, keyof FrontEndDrawing | "setWidget" | "setEditorComponent">,
    Partial<FrontEndDrawing> {
  /** Shows lines beside the editor; undefined removes them, or a component. */
  setWidget(key: string, lines: string[] | undefined, options?: WidgetOptions): void;
}
