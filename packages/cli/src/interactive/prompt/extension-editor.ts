import type { EditorComponent } from "@bonsai-agent/extension/host";
import { drawnLines } from "../extension-views/extension-tui.ts";
import type { TakenEditor } from "../extension-views/typing-views.ts";
import type { Style } from "../terminal/theme.ts";
import type { AutocompleteProvider } from "../terminal/tui.ts";

/** What the program's editor is to one that stands in its place. */
interface ReplacedEditor {
  text: string;
  /** Oldest first. */
  history: readonly string[];
  provider: AutocompleteProvider | undefined;
  onSubmit: (text: string) => void;
  /** The editor has no use for the key that stops. */
  onEscape: () => void;
  /** It has thrown, with this text in it: it is not asked again. */
  onBroken: (text: string) => void;
}

/** pi's editors look up there what a key of its program does. */
interface WithActions {
  actionHandlers?: unknown;
}

/** An editor of an extension in the place of the program's. Whatever it throws, the text that stood in it is kept. */
export class ExtensionEditor {
  readonly #options: TakenEditor;
  #replaced: ReplacedEditor | undefined;
  /** The latest that it gave. */
  #text = "";

  constructor(options: TakenEditor) {
    this.#options = options;
  }

  begin(replaced: ReplacedEditor): void {
    this.#replaced = replaced;
    this.#text = replaced.text;
    this.#safely((editor) => {
      editor.onSubmit = (text) => this.#submitted(String(text));
      editor.onEscape ??= () => this.#replaced?.onEscape();
      const { actionHandlers: actions } = editor as WithActions;
      if (actions instanceof Map && !actions.has("app.interrupt"))
        actions.set("app.interrupt", () => this.#replaced?.onEscape());
      for (const text of replaced.history) editor.addToHistory?.(text);
      if (replaced.provider !== undefined) editor.setAutocompleteProvider?.(replaced.provider);
      if (replaced.text !== "") editor.setText(replaced.text);
    });
  }

  /** Another editor has its place. */
  end(): void {
    if (this.#replaced === undefined) return;
    this.#safely((editor) => editor.dispose?.());
    this.#replaced = undefined;
    this.#options.leave();
  }

  get text(): string {
    return this.#safely((editor) => (this.#text = String(editor.getText()))) ?? this.#text;
  }

  /** With pastes in full. */
  get expandedText(): string {
    return (
      this.#safely((editor) => (this.#text = String(editor.getExpandedText?.() ?? editor.getText()))) ??
      this.#text
    );
  }

  get isShowingAutocomplete(): boolean {
    return this.#safely((editor) => editor.isShowingAutocomplete?.() === true) ?? false;
  }

  setText(text: string): void {
    this.#text = text;
    this.#safely((editor) => editor.setText(text));
  }

  handleInput(data: string): void {
    this.#safely((editor) => editor.handleInput(data));
    // What it throws later takes nothing with it.
    void this.expandedText;
  }

  addToHistory(text: string): void {
    this.#safely((editor) => editor.addToHistory?.(text));
  }

  setAutocompleteProvider(provider: AutocompleteProvider): void {
    this.#safely((editor) => editor.setAutocompleteProvider?.(provider));
  }

  invalidate(): void {
    this.#safely((editor) => editor.invalidate?.());
  }

  /** Undefined where it has failed. */
  render(
    width: number,
    { isFocused, border, rows }: { isFocused: boolean; border: Style; rows: number },
  ): string[] | undefined {
    return this.#safely((editor) => {
      if ("focused" in editor) editor.focused = isFocused;
      if ("borderColor" in editor) editor.borderColor = border;
      const lines = editor.render(width);
      // Of what is higher than the screen, the end is seen.
      return drawnLines(lines.slice(-rows), width).slice(-rows);
    });
  }

  #submitted(text: string): void {
    const replaced = this.#replaced;
    if (replaced === undefined) return;
    // An editor of pi's has emptied itself by then.
    if (this.text.trim() === text.trim()) this.setText("");
    replaced.onSubmit(text);
  }

  #safely<Result>(call: (editor: EditorComponent) => Result): Result | undefined {
    const replaced = this.#replaced;
    if (replaced === undefined) return undefined;
    try {
      return call(this.#options.component);
    } catch (error) {
      this.#replaced = undefined;
      this.#options.leave();
      replaced.onBroken(this.#text);
      this.#options.onFailure(error);
      return undefined;
    }
  }
}
