import { asPaste, pastedText } from "../prompt/typable-text.ts";
import { getKeybindings, Input, type Keybinding } from "../terminal/tui.ts";
import type { Theme } from "../theme/theme.ts";

export interface TextFieldOptions {
  theme: Theme;
  value?: string;
  placeholder?: string | undefined;
  /** Shows dots in the place of what is typed. Default false. */
  isSecret?: boolean;
}

const moves: readonly Keybinding[] = [
  "tui.editor.cursorLeft",
  "tui.editor.cursorRight",
  "tui.editor.cursorWordLeft",
  "tui.editor.cursorWordRight",
  "tui.editor.cursorLineStart",
  "tui.editor.cursorLineEnd",
];

/** One line to type in, with the cursor behind what stands there at first. */
export class TextField extends Input {
  readonly #isSecret: boolean;

  constructor({ theme, value = "", placeholder, isSecret = false }: TextFieldOptions) {
    const shown = placeholder === undefined ? {} : { placeholder, placeholderStyle: theme.style.dim };
    super({ prompt: " › ", ...shown });
    this.#isSecret = isSecret;
    // As a paste, so that the cursor stands at its end.
    if (value !== "") this.handleInput(asPaste(value));
  }

  /**
   * Where dots stand, the cursor stays behind them: it could not be seen where it is. What is pasted comes without what
   * would steer the terminal.
   */
  override handleInput(data: string): void {
    if (this.#isSecret && moves.some((key) => getKeybindings().matches(data, key))) return;
    const pasted = pastedText(data);
    super.handleInput(pasted === undefined ? data : asPaste(pasted));
  }

  override render(width: number): string[] {
    if (!this.#isSecret || this.getValue() === "") return super.render(width);
    const dots = "•".repeat(Math.max(0, Math.min(this.getValue().length, width - 5)));
    return [` › ${dots}\u001b[7m \u001b[27m`];
  }
}
