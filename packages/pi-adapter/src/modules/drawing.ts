import { Editor, type EditorOptions, type EditorTheme, matchesKey, type TUI } from "@earendil-works/pi-tui";
import { themeInUse } from "../theme.ts";

type Theme = ReturnType<typeof themeInUse>;
type Color = Parameters<Theme["fg"]>[0];
type Style = (text: string) => string;

/** The looks of the time when it is drawn. */
const color =
  (name: Color): Style =>
  (text) =>
    themeInUse().fg(name, text);
const attribute =
  (name: "bold" | "italic" | "underline" | "strikethrough"): Style =>
  (text) =>
    themeInUse()[name](text);

/** Styles of Markdown for pi's component. */
export function getMarkdownTheme(): Record<string, unknown> {
  return {
    heading: color("mdHeading"),
    link: color("mdLink"),
    linkUrl: color("mdLinkUrl"),
    code: color("mdCode"),
    codeBlock: color("mdCodeBlock"),
    codeBlockBorder: color("mdCodeBlockBorder"),
    quote: color("mdQuote"),
    quoteBorder: color("mdQuoteBorder"),
    hr: color("mdHr"),
    listBullet: color("mdListBullet"),
    bold: attribute("bold"),
    italic: attribute("italic"),
    strikethrough: attribute("strikethrough"),
    underline: attribute("underline"),
    highlightCode,
  };
}

export function getSelectListTheme(): Record<string, Style> {
  return {
    selectedPrefix: color("accent"),
    selectedText: color("accent"),
    description: color("muted"),
    scrollInfo: color("dim"),
    noMatch: color("warning"),
  };
}

export function getSettingsListTheme(): Record<string, unknown> {
  const chosen =
    (name: Color) =>
    (text: string, isSelected?: boolean): string =>
      isSelected === true ? themeInUse().fg("accent", text) : themeInUse().fg(name, text);
  return {
    label: chosen("text"),
    value: chosen("muted"),
    description: color("dim"),
    hint: color("dim"),
    cursor: "> ",
  };
}

/** Lines of a code, as they are. */
export function highlightCode(code: string): string[] {
  return code.split("\n");
}

/** A line across, as wide as the terminal. */
export class DynamicBorder {
  readonly #color: Style;

  constructor(style: Style = color("border")) {
    this.#color = style;
  }

  invalidate(): void {}

  render(width: number): string[] {
    return [this.#color("─".repeat(Math.max(1, width)))];
  }
}

interface Colours {
  fg(color: string, text: string): string;
}

interface Screen {
  requestRender?(): void;
}

/** A message between two lines while something is waited for; Escape aborts its signal. */
export class BorderedLoader {
  readonly #controller = new AbortController();
  readonly #border: DynamicBorder;
  readonly #lines: string[];
  readonly #cancellable: boolean;
  onAbort: (() => void) | undefined;

  constructor(
    _screen: Screen,
    theme: Colours,
    message: string,
    { cancellable = true }: { cancellable?: boolean } = {},
  ) {
    this.#cancellable = cancellable;
    this.#border = new DynamicBorder((text) => theme.fg("border", text));
    this.#lines = [message, ...(cancellable ? [theme.fg("dim", "Esc to cancel")] : [])];
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
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

/** Keys by the names of pi's actions, as far as hints mention them. */
const keys: Readonly<Record<string, string>> = {
  "tui.select.confirm": "enter",
  "tui.select.cancel": "escape",
  "tui.select.up": "up",
  "tui.select.down": "down",
  "app.tools.expand": "ctrl+o",
  "app.interrupt": "escape",
  expandTools: "ctrl+o",
  interrupt: "escape",
  selectConfirm: "enter",
  selectCancel: "escape",
};

/** The key of an action; one that is not known is shown by its name. */
export function keyText(action: string): string {
  return keys[action] ?? action;
}

export function keyHint(action: string, description: string): string {
  return `${keyText(action)} ${description}`;
}

export function rawKeyHint(key: string, description: string): string {
  return `${key} ${description}`;
}

interface Keybindings {
  matches(data: string, action: string): boolean;
}

interface Options extends EditorOptions {
  embedWorkingStatus?: boolean;
}

/** pi's editor: runs the program's keys before it types anything. */
export class CustomEditor extends Editor {
  readonly keybindings: Keybindings;
  readonly embedWorkingStatus: boolean;
  /** By pi's names. Bonsai's own keys are asked before any editor, but for the one that stops. */
  readonly actionHandlers = new Map<string, () => void>();
  onEscape: (() => void) | undefined;
  onCtrlD: (() => void) | undefined;
  onPasteImage: (() => void) | undefined;
  onExtensionShortcut: ((data: string) => boolean) | undefined;

  constructor(tui: TUI, theme: EditorTheme, keybindings: Keybindings, options: Options = {}) {
    super(tui, theme, options);
    this.keybindings = keybindings;
    this.embedWorkingStatus = options.embedWorkingStatus ?? false;
  }

  onAction(action: string, handler: () => void): void {
    this.actionHandlers.set(action, handler);
  }

  /** The line above the editor says what goes on. */
  setWorkingStatusIndicator(): void {}

  override handleInput(data: string): void {
    if (this.onExtensionShortcut?.(data) === true) return;
    const handler = handlerOf(this, data);
    if (handler === undefined) super.handleInput(data);
    else handler();
  }
}

/** What pi's own keys do in an editor; undefined for a key that is typed. */
function handlerOf(editor: CustomEditor, data: string): (() => void) | undefined {
  const { actionHandlers, keybindings } = editor;
  const is = (action: string) => keybindings.matches(data, action);
  if (is("app.interrupt"))
    return editor.isShowingAutocomplete()
      ? undefined
      : (editor.onEscape ?? actionHandlers.get("app.interrupt"));
  if (is("app.exit"))
    return editor.getText() === "" ? (editor.onCtrlD ?? actionHandlers.get("app.exit")) : undefined;
  if (is("app.clipboard.pasteImage")) return editor.onPasteImage;
  return [...actionHandlers].find(([action]) => action !== "app.interrupt" && is(action))?.[1];
}
