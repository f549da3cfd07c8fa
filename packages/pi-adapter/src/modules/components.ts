import { Editor, type EditorOptions, type EditorTheme, matchesKey, type TUI } from "@earendil-works/pi-tui";
import { themeInUse } from "../theme.ts";

/** A line as wide as the terminal. */
export class DynamicBorder {
  readonly #color: (text: string) => string;

  constructor(color = (text: string) => themeInUse().fg("border", text)) {
    this.#color = color;
  }

  render(width: number): string[] {
    return [this.#color("─".repeat(Math.max(1, width)))];
  }

  invalidate(): void {}
}

/** A message between two lines. Escape aborts its signal. */
export class BorderedLoader {
  readonly #controller = new AbortController();
  readonly #border: DynamicBorder;
  readonly #lines: string[];
  readonly #cancellable: boolean;
  readonly signal: AbortSignal = this.#controller.signal;
  onAbort: (() => void) | undefined;

  constructor(
    _tui: unknown,
    theme: { fg(color: string, text: string): string },
    message: string,
    { cancellable = true } = {},
  ) {
    this.#cancellable = cancellable;
    this.#border = new DynamicBorder((text) => theme.fg("border", text));
    this.#lines = [message, ...(cancellable ? [theme.fg("dim", "Esc to cancel")] : [])];
  }

  handleInput(data: string): void {
    if (!this.#cancellable || !matchesKey(data, "escape")) return;
    this.#controller.abort();
    this.onAbort?.();
  }

  render(width: number): string[] {
    const border = this.#border.render(width);
    return [...border, ...this.#lines.map((line) => ` ${line}`), ...border];
  }

  invalidate(): void {}
  dispose(): void {}
}

interface Keybindings {
  matches(data: string, action: string): boolean;
}

/** pi's editor: runs the program's keys before it types anything. */
export class CustomEditor extends Editor {
  readonly keybindings: Keybindings;
  readonly embedWorkingStatus: boolean;
  /** By pi's names. Bonsai handles its own keys before an editor, except the key that stops the agent. */
  readonly actionHandlers = new Map<string, () => void>();
  onEscape: (() => void) | undefined;
  onCtrlD: (() => void) | undefined;
  onPasteImage: (() => void) | undefined;
  onExtensionShortcut: ((data: string) => boolean) | undefined;

  constructor(
    tui: TUI,
    theme: EditorTheme,
    keybindings: Keybindings,
    options: EditorOptions & { embedWorkingStatus?: boolean } = {},
  ) {
    super(tui, theme, options);
    this.keybindings = keybindings;
    this.embedWorkingStatus = options.embedWorkingStatus ?? false;
  }

  onAction(action: string, handler: () => void): void {
    this.actionHandlers.set(action, handler);
  }

  /** The line above the editor shows the status. */
  setWorkingStatusIndicator(): void {}

  override handleInput(data: string): void {
    if (this.onExtensionShortcut?.(data) === true) return;
    const handler = this.#handlerOf(data);
    if (handler === undefined) super.handleInput(data);
    else handler();
  }

  /** Undefined for a key that is typed. */
  #handlerOf(data: string): (() => void) | undefined {
    const { actionHandlers } = this;
    const is = (action: string) => this.keybindings.matches(data, action);
    if (is("app.interrupt"))
      return this.isShowingAutocomplete()
        ? undefined
        : (this.onEscape ?? actionHandlers.get("app.interrupt"));
    if (is("app.exit"))
      return this.getText() === "" ? (this.onCtrlD ?? actionHandlers.get("app.exit")) : undefined;
    if (is("app.clipboard.pasteImage")) return this.onPasteImage;
    return [...actionHandlers].find(([action]) => action !== "app.interrupt" && is(action))?.[1];
  }
}
