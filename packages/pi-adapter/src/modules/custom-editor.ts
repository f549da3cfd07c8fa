import { createRequire } from "node:module";

type EditorClass = new (tui: unknown, theme: unknown, options?: unknown) => Editor;
type Terminal = { Editor: EditorClass };

/** What is used of the terminal library's editor. */
interface Editor {
  getText(): string;
  handleInput(data: string): void;
  render(width: number): string[];
  isShowingAutocomplete(): boolean;
}

interface Keybindings {
  matches(data: string, action: string): boolean;
}

interface Options {
  embedWorkingStatus?: boolean;
}

/** pi's editor: what a key of the program does is asked before it is typed. */
function editorClass({ Editor }: Terminal) {
  return class CustomEditor extends Editor {
    readonly keybindings: Keybindings;
    readonly embedWorkingStatus: boolean;
    /** By pi's names. Bonsai's own keys are asked before any editor, but for the one that stops. */
    readonly actionHandlers = new Map<string, () => void>();
    onEscape: (() => void) | undefined;
    onCtrlD: (() => void) | undefined;
    onPasteImage: (() => void) | undefined;
    onExtensionShortcut: ((data: string) => boolean) | undefined;

    constructor(tui: unknown, theme: unknown, keybindings: Keybindings, options: Options = {}) {
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
  };
}

type CustomEditorClass = ReturnType<typeof editorClass>;

/** What pi's own keys do in an editor; undefined for a key that is typed. */
function handlerOf(editor: InstanceType<CustomEditorClass>, data: string): (() => void) | undefined {
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

let made: CustomEditorClass | undefined;

function readyClass(): CustomEditorClass {
  if (made === undefined) {
    made = editorClass(createRequire(import.meta.url)("@earendil-works/pi-tui") as Terminal);
    Object.setPrototypeOf(CustomEditor.prototype, made.prototype as object);
  }
  return made;
}

/**
 * To derive editors from. What it derives from itself is loaded with the first editor that is made: loading the terminal
 * library takes long, most extensions make none, and where one is made it is there already.
 */
export const CustomEditor = function CustomEditor(...args: ConstructorParameters<CustomEditorClass>): object {
  return Reflect.construct(readyClass(), args, new.target ?? CustomEditor) as object;
} as unknown as CustomEditorClass;
