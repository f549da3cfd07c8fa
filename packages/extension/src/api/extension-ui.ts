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
  /** True where the user wants to see all of tool output, thinking and summaries; false where nothing is drawn. */
  getToolsExpanded(): boolean;
  /** As the user's key does. */
  setToolsExpanded(isExpanded: boolean): void;
}
