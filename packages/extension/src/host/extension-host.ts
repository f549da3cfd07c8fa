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

/** The models of the host, and who asks them. */
export interface ExtensionModels {
  catalogue: Catalogue;
  keys: KeyFile;
  client: ModelClient;
}

/** Where a session is left for another. Each resolves with false where it did not happen. */
export interface SessionControl {
  newSession(options: { parentSession?: string }): Promise<boolean>;
  fork(entryId: string, options: { position: "before" | "at" }): Promise<boolean>;
  switchSession(sessionPath: string): Promise<boolean>;
  navigateTree(targetId: string, options: NavigateOptions): Promise<boolean>;
  mergeBranch(branchId: string, options: MergeOptions): Promise<MergeResult>;
}

/** What a front end gives to the extensions that it runs. Read when needed: sessions come and go. */
export interface ExtensionHost {
  readonly mode: ExtensionMode;
  readonly cwd: string;
  /** Where handlers of extensions are registered. */
  readonly lifecycle: Lifecycle<LifecycleEvents>;
  /** Default: nobody can be asked, and notifications become notices. */
  readonly ui?: FrontEndUI | undefined;
  /** The session that is worked in; undefined before there is one. */
  session(): Session | undefined;
  /** Undefined in the session commands. */
  agent(): Agent | undefined;
  /** The model in use where there is no agent. */
  model?(): CatalogueModel | undefined;
  /** Opened when an extension first asks. */
  models(): Promise<ExtensionModels>;
  /** Default: commands of extensions can go to no other session or place. */
  readonly control?: SessionControl | undefined;
  /** Ends the program once what goes on has ended. */
  shutdown(): void;
  isProjectTrusted(): boolean;
  /** What the command line gave for a flag that an extension registered. */
  flag(name: string): FlagValue | undefined;
  /** The templates and skills that a prompt can call, as far as they were read. Default: none. */
  resourceCommands?(): readonly ResourceCommandInfo[];
  /** Must not throw. */
  onNotice(notice: AgentNotice): void;
  /** Asks about a path beyond the project that a tool of an extension wants to touch. Default: nobody is asked. */
  readonly confirmPath?: ConfirmPath | undefined;
  /** Called once the extensions are loaded anew and started: what they bring besides is read again. Default: nothing. */
  onReload?(signal: AbortSignal): Promise<void>;
  /** Called with each entry that an extension has appended. Default: nothing is called. */
  onEntry?(entry: CustomEntry): void;
}

/** The extension that an adapter works for. */
export interface AdaptedExtension {
  /** Absolute path of the entry module. */
  readonly path: string;
  /** As notices name it. */
  readonly name: string;
  /** The program that runs it. */
  readonly host: ExtensionHost;
  /** The modules of the program that the extension can import. */
  readonly modules: VirtualModules;
  /** Keeps an undo until the extension is unloaded; the function returned undoes at once. */
  keep(undo: () => void): () => void;
  onNotice(notice: AgentNotice): void;
  /** The notice about a registration that an adapter could not make: it costs the extension nothing else. */
  notifyRefused(error: unknown): void;
  /**
   * Runs the command that a text calls, of whatever extension, as if the user had typed it: at once, and for a handler or a
   * tool that the agent waits for when the agent is idle. Nobody waits for it; a failure is a notice. False where the text
   * calls none.
   */
  runCommand(text: string): boolean;
  /** Whether a tool may touch a path beyond the project, as the user is asked for the program's own tools. */
  readonly confirmPath: ConfirmPath;
}

/** Lays another agent's names over ours, for extensions that were written for it. */
export interface ExtensionAdapter {
  /** What the extension's function is called with. */
  api?(api: ExtensionAPI, extension: AdaptedExtension): ExtensionAPI;
  /** What its handlers, tools and commands are called with. */
  context?<Context extends ExtensionContext>(context: Context, extension: AdaptedExtension): Context;
}

/** A component of an extension as a front end calls it: never throws. */
export interface DrawnComponent {
  /** Undefined once it has failed, and once its extension is unloaded. */
  render(width: number): string[] | undefined;
  handleInput(data: string): void;
  invalidate(): void;
  dispose(): void;
  /** Whether the keys go to it. */
  focused: boolean;
  /** Whether it wants keys that are let go, too. */
  readonly wantsKeyRelease: boolean;
  /** As the extension made it. */
  readonly component: Component;
}

/** What a component is made with. */
export interface ComponentPlace<Value> {
  tui: ComponentTui;
  keybindings: ComponentKeybindings;
  /** Ends what is shown; a second call does nothing. */
  done(value: Value | undefined): void;
}

/** What an editor of an extension is made with, and who is told that it failed: it is gone by then. */
export interface EditorMaker {
  make(place: { tui: ComponentTui; keybindings: ComponentKeybindings; theme: EditorTheme }): EditorComponent;
  onFailure(error: unknown): void;
}

/** What a front end does that can draw components. Whoever takes one that was made disposes of it. */
export interface FrontEndDrawing {
  readonly theme: Theme;
  /** Shows what is made until it is done. @returns undefined where it ended otherwise */
  custom<Value>(
    make: (place: ComponentPlace<Value>) => DrawnComponent | Promise<DrawnComponent>,
    options: CustomOptions,
  ): Promise<Value | undefined>;
  /** In the place of the lines of `setWidget`, which takes it away, too. */
  showWidget(key: string, make: (tui: ComponentTui) => DrawnComponent, options?: WidgetOptions): void;
  setFooter(make: ((tui: ComponentTui, data: FooterData) => DrawnComponent) | undefined): void;
  setHeader(make: ((tui: ComponentTui) => DrawnComponent) | undefined): void;
  setWorkingMessage(message: string | undefined): void;
  setWorkingIndicator(indicator: WorkingIndicator | undefined): void;
  setWorkingVisible(isVisible: boolean): void;
  setHiddenThinkingLabel(label: string | undefined): void;
  /** Puts an editor in the place of the program's; undefined brings that back. Whatever it throws, the text is kept. */
  setEditor(maker: EditorMaker | undefined): void;
  /** What throws is called no more. @returns ends it */
  addAutocompleteProvider(
    make: (current: AutocompleteProvider) => AutocompleteProvider,
    onFailure: (error: unknown) => void,
  ): () => void;
  /** The handler never throws. @returns ends it */
  onTerminalInput(handler: (data: string) => { consume?: boolean; data?: string } | undefined): () => void;
  /** Undefined brings back what the user has chosen. */
  setTheme(theme: string | Theme | undefined): void;
  /** True for what `setTheme` takes by name. */
  hasTheme(name: string): boolean;
  getAllThemes(): { name: string; path: string | undefined }[];
  getTheme(name: string): Theme | undefined;
  getToolsExpanded(): boolean;
  setToolsExpanded(isExpanded: boolean): void;
  /** An extension has appended it; it is drawn where it has a renderer. */
  showEntry(entry: CustomEntry): void;
}

/** What a front end implements for extensions. What draws can be left out: it then has no effect. */
export interface FrontEndUI
  extends Omit<ExtensionUI, keyof FrontEndDrawing | "setWidget" | "setEditorComponent">,
    Partial<FrontEndDrawing> {
  /** Lines beside the editor; undefined takes them, or a component, away. */
  setWidget(key: string, lines: string[] | undefined, options?: WidgetOptions): void;
}
