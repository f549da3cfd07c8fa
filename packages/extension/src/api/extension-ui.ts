import type { Component, ComponentKeybindings, ComponentTui, Theme } from "./drawing.ts";

export interface DialogOptions {
  /** Ends the question: it is answered as if nobody had. */
  signal?: AbortSignal | undefined;
  /** Milliseconds until the question ends by itself. Default: it waits. */
  timeout?: number | undefined;
}

export type NotificationType = "info" | "warning" | "error";

export interface WidgetOptions {
  /** Default "aboveEditor". */
  placement?: "aboveEditor" | "belowEditor" | undefined;
}

/** Makes the component of a widget or a header. */
type ComponentFactory = (tui: ComponentTui, theme: Theme) => Component;

/** What a footer can say that an extension would not know otherwise. */
export interface FooterData {
  /** Null outside of a repository. */
  getGitBranch(): string | null;
  /** What extensions gave to `setStatus`, by key. */
  getExtensionStatuses(): ReadonlyMap<string, string>;
  /** The function returned ends it. */
  onBranchChange(callback: () => void): () => void;
}

/** Makes the component of a footer. */
type FooterFactory = (tui: ComponentTui, theme: Theme, footerData: FooterData) => Component;

/** Makes what `custom` shows. `done` ends it, with the value that `custom` resolves with; a second call does nothing. */
export type CustomFactory<Value> = (
  tui: ComponentTui,
  theme: Theme,
  keybindings: ComponentKeybindings,
  done: (value: Value) => void,
) => Component | Promise<Component>;

/** Where an overlay stands and how large it is: numbers of columns and rows, or shares of the terminal like "50%". */
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
  /** True: the keys stay where they are. Default false. */
  nonCapturing?: boolean;
}

export interface CustomOptions {
  /** Ends it: it resolves with undefined. */
  signal?: AbortSignal | undefined;
  /** True: over what is on the screen. Default false: in the place of the editor. */
  overlay?: boolean | undefined;
  overlayOptions?: OverlayOptions | (() => OverlayOptions) | undefined;
}

/** The looks that an editor is made with. Editors of `@earendil-works/pi-tui` take it as it is. */
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
 * Where the user types, in the place of the program's own editor. Editors of `@earendil-works/pi-tui` have this shape.
 * Keys of the program are asked before it, but for the one that stops (Esc): that one goes to the editor first, which
 * hands it on by calling `onEscape`, and pressed once more without another key in between it is the program's.
 */
export interface EditorComponent extends Component {
  getText(): string;
  setText(text: string): void;
  handleInput(data: string): void;
  /** Set by the program: to be called with a text that the user sends. */
  onSubmit?: ((text: string) => void) | undefined;
  /** Set by the program, unless the editor has one: to be called at an Esc that the editor has no use for. */
  onEscape?: (() => void) | undefined;
  /** What the history goes through, latest last. */
  addToHistory?(text: string): void;
  /** The text with pastes in full. Default `getText`. */
  getExpandedText?(): string;
  setAutocompleteProvider?(provider: AutocompleteProvider): void;
  /** Esc closes it then. Default false. */
  isShowingAutocomplete?(): boolean;
  focused?: boolean;
}

type EditorFactory = (
  tui: ComponentTui,
  theme: EditorTheme,
  keybindings: ComponentKeybindings,
) => EditorComponent;

interface AutocompleteItem {
  /** Takes the place of what was typed. */
  value: string;
  label: string;
  description?: string;
}

/** What completes what the user types. */
export interface AutocompleteProvider {
  /** Characters that begin a completion by themselves, beside `/`, `@` and `#`. */
  triggerCharacters?: string[];
  /** Null where there is nothing. `prefix` is what stands in front of the cursor and is replaced. */
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

/** Makes a provider that asks `current` for what it does not complete itself. */
type AutocompleteFactory = (current: AutocompleteProvider) => AutocompleteProvider;

export interface WorkingIndicator {
  /** One after the other, as they are, with their own colours; one stands still, none hides the sign. */
  frames?: string[] | undefined;
  /** Milliseconds for each; at least 40, default 120. */
  intervalMs?: number | undefined;
}

/** A key as the terminal sends it. `consume`: nobody else gets it; `data`: this in its place. */
type TerminalInputHandler = (
  data: string,
) => { consume?: boolean | undefined; data?: string | undefined } | undefined | void;

/**
 * How extensions speak with the user. Where nobody can be asked (`ctx.hasUI` is false), questions are answered at once:
 * nothing chosen, not confirmed, nothing typed.
 */
export interface ExtensionUI {
  /** @returns the option that was chosen; undefined where none was */
  select(title: string, options: string[], settings?: DialogOptions): Promise<string | undefined>;
  /** @returns true only where the user said yes */
  confirm(title: string, message: string, settings?: DialogOptions): Promise<boolean>;
  /** @returns what was typed; undefined where the user left it */
  input(title: string, placeholder?: string, settings?: DialogOptions): Promise<string | undefined>;
  /** A text of several lines. @returns what was typed; undefined where the user left it */
  editor(title: string, prefill?: string): Promise<string | undefined>;
  /** Shows a text beside the conversation; default type "info". Without a user interface it is a notice. */
  notify(message: string, type?: NotificationType): void;
  /** A short text in the footer; undefined takes it away. */
  setStatus(key: string, text: string | undefined): void;
  /** Lines beside the editor, or a component, which only the interactive mode draws; undefined takes them away. */
  setWidget(key: string, content: string[] | ComponentFactory | undefined, options?: WidgetOptions): void;
  /** Of the terminal's window. */
  setTitle(title: string): void;
  /** Takes the place of what stands in the editor. */
  setEditorText(text: string): void;
  getEditorText(): string;

  // What follows is drawn by the interactive mode alone (`ctx.mode` is "tui"). Elsewhere it has no effect.

  /**
   * Shows a component in the place of the editor; it has the keys until it calls `done`. It waits until the user rests
   * from typing. Ctrl-C, the end of the
   * program, and unloading the extension end it too. One that throws is named in a notice, and ends.
   * @returns what it was done with; undefined where it ended otherwise, and where nothing is drawn
   */
  custom<Value>(factory: CustomFactory<Value>, options?: CustomOptions): Promise<Value | undefined>;
  /** The looks of now; texts stay as they are where nothing is drawn. */
  readonly theme: Theme;
  /** A component in the place of the footer; undefined brings the footer back. */
  setFooter(factory: FooterFactory | undefined): void;
  /** A component above the chat; undefined takes it away. */
  setHeader(factory: ComponentFactory | undefined): void;
  /** What stands beside the spinner while the agent works; without a text, what it does. */
  setWorkingMessage(message?: string): void;
  /** The sign that turns beside it; without options, the program's. */
  setWorkingIndicator(indicator?: WorkingIndicator): void;
  /** False hides that line. What a key would cancel, or a handler that is waited for, is shown all the same. */
  setWorkingVisible(isVisible: boolean): void;
  /** What stands in the place of thinking that is folded; without a text, how much of it there is. */
  setHiddenThinkingLabel(label?: string): void;
  /**
   * An editor in the place of the program's, with the text that stands there; undefined brings the program's back. One
   * that throws is named in a notice, and the program's comes back with the text.
   */
  setEditorComponent(factory: EditorFactory | undefined): void;
  /** Completes more than the program does; the function returned ends it. One that throws is named, and left out. */
  addAutocompleteProvider(factory: AutocompleteFactory): () => void;
  /** Sees keys before what has the focus, behind the program's own; the function returned ends it. */
  onTerminalInput(handler: TerminalInputHandler): () => void;
  /**
   * The colours: `auto`, a theme by its name, or one of `getTheme` or of one's own, until the user chooses others or the
   * extension is unloaded. The settings stay as they are.
   */
  setTheme(theme: string | Theme): { success: boolean; error?: string };
  /** The themes there are, built in and in files, with their files; none where nothing is drawn. */
  getAllThemes(): { name: string; path: string | undefined }[];
  /** A theme by its name, to draw with or to set; undefined where there is none. It is as its file was when it was asked for. */
  getTheme(name: string): Theme | undefined;
  /** True where the user wants to see all of tool output, thinking and summaries; false where nothing is drawn. */
  getToolsExpanded(): boolean;
  /** As the user's key does. */
  setToolsExpanded(isExpanded: boolean): void;
}
