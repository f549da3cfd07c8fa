import type { Component, ComponentKeybindings, ComponentTui, Theme } from "./drawing.ts";

export interface DialogOptions {
  /** Ends the question without an answer. */
  signal?: AbortSignal | undefined;
  /** Milliseconds until the question ends without an answer. Default: no limit. */
  timeout?: number | undefined;
  /** For `select` about a permission: the effect of each option, in their order. Editors show it. Default: plain answers. */
  permissions?: readonly PermissionKind[] | undefined;
}

export type PermissionKind = "allow_once" | "allow_always" | "reject_once" | "reject_always";

export type NotificationType = "info" | "warning" | "error";

export interface WidgetOptions {
  /** Default "aboveEditor". */
  placement?: "aboveEditor" | "belowEditor" | undefined;
}

/** Makes the component of a widget or a header. */
type ComponentFactory = (tui: ComponentTui, theme: Theme) => Component;

/** Data for a footer. */
export interface FooterData {
  /** Null outside of a repository. */
  getGitBranch(): string | null;
  /** The texts of `setStatus`, by key. */
  getExtensionStatuses(): ReadonlyMap<string, string>;
  /** The function returned ends the calls. */
  onBranchChange(callback: () => void): () => void;
}

/** Makes the component of `custom`. `done` ends it with a value; a second call does nothing. */
export type CustomFactory<Value> = (
  tui: ComponentTui,
  theme: Theme,
  keybindings: ComponentKeybindings,
  done: (value: Value) => void,
) => Component | Promise<Component>;

/** Place and size of an overlay: columns and rows, or shares of the terminal like "50%". */
interface OverlayOptions {
  width?: number | `${number}%`;
  minWidth?: number;
  maxHeight?: number | `${number}%`;
  /** Default "center". */
  anchor?:
    | "center"
    | "top-left"
    | "top-right"
    | "bottom-left"
    | "bottom-right"
    | "top-center"
    | "bottom-center"
    | "left-center"
    | "right-center";
  offsetX?: number;
  offsetY?: number;
  /** True: the overlay gets no keys. Default false. */
  nonCapturing?: boolean;
}

export interface CustomOptions {
  /** Closes the component: `custom` resolves with undefined. */
  signal?: AbortSignal | undefined;
  /** True: above the screen. Default false: instead of the editor. */
  overlay?: boolean | undefined;
  overlayOptions?: OverlayOptions | (() => OverlayOptions) | undefined;
}

/** Styles for an editor. Editors of `@earendil-works/pi-tui` accept it. */
export interface EditorTheme {
  borderColor(text: string): string;
  readonly selectList: Readonly<
    Record<
      "selectedPrefix" | "selectedText" | "description" | "scrollInfo" | "noMatch",
      (text: string) => string
    >
  >;
}

/**
 * An editor that replaces the program's. Editors of `@earendil-works/pi-tui` have this shape. The program's own keys
 * come first, except for Esc: the editor gets it first and can pass it on with `onEscape`. A second Esc in a row goes
 * to the program.
 */
export interface EditorComponent extends Component {
  getText(): string;
  setText(text: string): void;
  handleInput(data: string): void;
  /** Set by the program: call it with a text to send. */
  onSubmit?: ((text: string) => void) | undefined;
  /** Set by the program, unless the editor has one: call it for an Esc that the editor does not use. */
  onEscape?: (() => void) | undefined;
  /** Adds a text to the history, the latest last. */
  addToHistory?(text: string): void;
  /** The text with full pastes. Default `getText`. */
  getExpandedText?(): string;
  setAutocompleteProvider?(provider: AutocompleteProvider): void;
  /** True: Esc closes the completions. Default false. */
  isShowingAutocomplete?(): boolean;
  focused?: boolean;
}

interface AutocompleteItem {
  /** Replaces the prefix. */
  value: string;
  label: string;
  description?: string;
}

/** Completes the user's text. */
export interface AutocompleteProvider {
  /** Characters that start a completion, besides `/`, `@` and `#`. */
  triggerCharacters?: string[];
  /** Null for none. `prefix` is the text before the cursor to replace. */
  getSuggestions(
    lines: string[],
    cursorLine: number,
    cursorCol: number,
    options: { signal: AbortSignal; force?: boolean },
  ): Promise<{ items: AutocompleteItem[]; prefix: string } | null>;
  applyCompletion(
    lines: string[],
    cursorLine: number,
    cursorCol: number,
    item: AutocompleteItem,
    prefix: string,
  ): { lines: string[]; cursorLine: number; cursorCol: number };
  shouldTriggerFileCompletion?(lines: string[], cursorLine: number, cursorCol: number): boolean;
}

export interface WorkingIndicator {
  /** Texts to show in turn, with their own colours. One frame does not move; an empty list hides the sign. */
  frames?: string[] | undefined;
  /** Milliseconds for each frame; minimum 40, default 120. */
  intervalMs?: number | undefined;
}

/**
 * Talks to the user. Without a user (`ctx.hasUI` is false), questions are answered at once: no choice, not confirmed,
 * no text.
 */
export interface ExtensionUI {
  /** @returns the chosen option; undefined for none */
  select(title: string, options: string[], settings?: DialogOptions): Promise<string | undefined>;
  /** @returns true only if the user confirmed */
  confirm(title: string, message: string, settings?: DialogOptions): Promise<boolean>;
  /** @returns the text; undefined if the user cancelled */
  input(title: string, placeholder?: string, settings?: DialogOptions): Promise<string | undefined>;
  /** Asks for a text of several lines. @returns the text; undefined if the user cancelled */
  editor(title: string, prefill?: string): Promise<string | undefined>;
  /** Shows a text beside the conversation. Default type "info". Without a user interface it is a notice. */
  notify(message: string, type?: NotificationType): void;
  /** Shows a short text in the footer; undefined removes it. */
  setStatus(key: string, text: string | undefined): void;
  /** Shows lines beside the editor, or a component (interactive mode only); undefined removes them. */
  setWidget(key: string, content: string[] | ComponentFactory | undefined, options?: WidgetOptions): void;
  /** Sets the title of the terminal's window. */
  setTitle(title: string): void;
  /** Replaces the text in the editor. */
  setEditorText(text: string): void;
  getEditorText(): string;

  // Only the interactive mode (`ctx.mode` is "tui") draws the following. In other modes the calls have no effect.

  /**
   * Shows a component instead of the editor, once the user stops typing. It gets the keys until it calls `done`.
   * Ctrl-C, the end of the program and unloading the extension close it too. An error is a notice and closes it.
   * @returns the value of `done`; undefined if it was closed otherwise, or nothing is drawn
   */
  custom<Value>(factory: CustomFactory<Value>, options?: CustomOptions): Promise<Value | undefined>;
  /** The current theme. Without a screen, it leaves texts unchanged. */
  readonly theme: Theme;
  /** Replaces the footer; undefined restores it. */
  setFooter(
    factory: ((tui: ComponentTui, theme: Theme, footerData: FooterData) => Component) | undefined,
  ): void;
  /** Shows a component above the chat; undefined removes it. */
  setHeader(factory: ComponentFactory | undefined): void;
  /** Sets the text beside the spinner. Without a text, it describes the agent's work. */
  setWorkingMessage(message?: string): void;
  /** Sets the spinner. Without options, it is the program's. */
  setWorkingIndicator(indicator?: WorkingIndicator): void;
  /** False hides the spinner's line, except for work that a key cancels or a handler that the agent waits for. */
  setWorkingVisible(isVisible: boolean): void;
  /** Sets the label of folded thinking. Without a text, it shows the amount. */
  setHiddenThinkingLabel(label?: string): void;
  /**
   * Replaces the editor and keeps its text; undefined restores the program's. An error is a notice and restores it too.
   */
  setEditorComponent(
    factory:
      | ((tui: ComponentTui, theme: EditorTheme, keybindings: ComponentKeybindings) => EditorComponent)
      | undefined,
  ): void;
  /**
   * Adds a provider that can delegate to `current`; the function returned removes it. A provider that throws is removed,
   * with a notice.
   */
  addAutocompleteProvider(factory: (current: AutocompleteProvider) => AutocompleteProvider): () => void;
  /**
   * Gets keys after the program's own and before the focused component. `consume` stops a key; `data` replaces it. The
   * function returned ends it.
   */
  onTerminalInput(
    handler: (
      data: string,
    ) => { consume?: boolean | undefined; data?: string | undefined } | undefined | void,
  ): () => void;
  /**
   * Sets the theme: `auto`, a name, a theme of `getTheme` or an own one. It applies until the user chooses another or
   * the extension is unloaded. The settings stay unchanged.
   */
  setTheme(theme: string | Theme): { success: boolean; error?: string };
  /** All themes, built in and in files, with their files. Empty without a screen. */
  getAllThemes(): { name: string; path: string | undefined }[];
  /** Finds a theme by its name, with its file's current content. */
  getTheme(name: string): Theme | undefined;
  /** True if tool output, thinking and summaries are expanded. False without a screen. */
  getToolsExpanded(): boolean;
  /** Expands or folds them, as the user's key does. */
  setToolsExpanded(isExpanded: boolean): void;
}
