import type { Panel, Screen } from "../screen.ts";
import { Editor, type Focusable, getKeybindings } from "../terminal/tui.ts";
import { hintLines, keyName, titleLines } from "./panel-frame.ts";

export interface EditorPanelOptions {
  screen: Screen;
  title: string;
  prefill: string;
  onDone: (text: string | undefined) => void;
}

/** A question with a text of several lines to type. */
export class EditorPanel implements Panel, Focusable {
  readonly #options: EditorPanelOptions;
  readonly #editor: Editor;

  constructor(options: EditorPanelOptions) {
    const { screen, prefill } = options;
    this.#options = options;
    this.#editor = new Editor(screen.tui, screen.theme.editor);
    this.#editor.setText(prefill);
    // What the editor hands over is trimmed: blanks around a text can be meant.
    this.#editor.disableSubmit = true;
  }

  get focused(): boolean {
    return this.#editor.focused;
  }

  set focused(isFocused: boolean) {
    this.#editor.focused = isFocused;
  }

  handleInput(data: string): void {
    const keys = getKeybindings();
    const { onDone, screen } = this.#options;
    if (keys.matches(data, "tui.select.cancel")) onDone(undefined);
    else if (keys.matches(data, "tui.input.submit") && !keys.matches(data, "tui.input.newLine"))
      onDone(this.#editor.getExpandedText());
    else this.#editor.handleInput(data);
    screen.redraw();
  }

  render(width: number): string[] {
    const { screen, title } = this.#options;
    return [
      ...titleLines(screen.theme, title, width).slice(0, Math.max(1, screen.rows - 8)),
      ...this.#editor.render(width),
      ...hintLines(
        screen.theme,
        [
          [keyName("tui.input.submit"), "take it"],
          [keyName("tui.input.newLine"), "new line"],
          [keyName("tui.select.cancel"), "leave"],
        ],
        width,
      ),
    ];
  }

  invalidate(): void {
    this.#editor.invalidate();
  }
}
