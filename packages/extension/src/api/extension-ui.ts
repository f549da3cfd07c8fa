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
  notify(message: string, type?: NotificationType): void;
  /** A short text in the footer; undefined takes it away. */
  setStatus(key: string, text: string | undefined): void;
  /** Lines beside the editor; undefined takes them away. */
  setWidget(key: string, lines: string[] | undefined, options?: WidgetOptions): void;
  setTitle(title: string): void;
  setEditorText(text: string): void;
  getEditorText(): string;
}
