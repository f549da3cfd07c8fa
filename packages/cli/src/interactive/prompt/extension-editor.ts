import type { EditorComponent } from "@bonsai-agent/extension/host";
import { drawnLines } from "../extension-views/extension-tui.ts";
import type { TakenEditor } from "../extension-views/input-hooks.ts";
import type { Style } from "../terminal/theme.ts";
import type { AutocompleteProvider } from "../terminal/tui.ts";

/** Bonsai's editor, as its replacement needs it. */
interface ReplacedEditor {
  text: string;
  /** Oldest first. */
  history: readonly string[];
  provider: AutocompleteProvider | undefined;
  onSubmit: (text: string) => void;
  /** Called for a stop key that the editor does not use. */
  onEscape: () => void;
  /** Called after an error, with the latest text. The editor is not used again. */
  onBroken: (text: string) => void;
}

/** pi's editors look up the actions of keys here. */
interface WithActions {
  actionHandlers?: unknown;
}

/** An extension's editor in the place of Bonsai's. Keeps its text if it throws. */
export class ExtensionEditor {
  readonly #options: TakenEditor;
  #replaced: ReplacedEditor | undefined;
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

  /** To be called when another editor replaces it. */
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
    // Saves the text in case it throws later.
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

  /** @returns undefined if it failed */
  render(
    width: number,
    { isFocused, border, rows }: { isFocused: boolean; border: Style; rows: number },
  ): string[] | undefined {
    return this.#safely((editor) => {
      if ("focused" in editor) editor.focused = isFocused;
      if ("borderColor" in editor) editor.borderColor = border;
      const lines = editor.render(width);
      // Shows the end of an editor that is higher than the screen.
      return drawnLines(lines.slice(-rows), width).slice(-rows);
    });
  }

  #submitted(text: string): void {
    const replaced = this.#replaced;
    if (replaced === undefined) return;
    // pi's editors are empty by then.
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
