import { Editor, type EditorOptions, type EditorTheme, type TUI } from "@earendil-works/pi-tui";

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
