import type { Panel } from "../screen.ts";
import { type Focusable, getKeybindings } from "../terminal/tui.ts";
import { hintLines, keyName, type PanelPlace, rule, textLines, titleLines } from "./panel-frame.ts";
import { ScrolledText } from "./scrolled-text.ts";
import { TextField } from "./text-field.ts";

export interface InputPanelOptions {
  place: PanelPlace;
  title: string;
  /** What it is about, below the title. */
  message?: string;
  value?: string;
  placeholder?: string | undefined;
  isSecret?: boolean;
  /** What is wrong with a text; the panel then stays. Default: every text will do. */
  problem?: (text: string) => string | undefined;
  onDone: (text: string | undefined) => void;
}

/** A question with a line to type. */
export class InputPanel implements Panel, Focusable {
  readonly #options: InputPanelOptions;
  readonly #field: TextField;
  readonly #text: ScrolledText;
  #problem: string | undefined;

  constructor(options: InputPanelOptions) {
    const { place, value = "", placeholder, isSecret = false, message = "" } = options;
    this.#options = options;
    this.#field = new TextField({ theme: place.theme, value, placeholder, isSecret });
    this.#text = new ScrolledText(message, place.theme);
  }

  get focused(): boolean {
    return this.#field.focused;
  }

  set focused(isFocused: boolean) {
    this.#field.focused = isFocused;
  }

  handleInput(data: string): void {
    const keys = getKeybindings();
    if (keys.matches(data, "tui.select.cancel")) this.#options.onDone(undefined);
    else if (keys.matches(data, "tui.select.confirm")) this.#take();
    else if (!this.#text.handleInput(data)) this.#field.handleInput(data);
    this.#options.place.redraw();
  }

  render(width: number): string[] {
    const { place, title } = this.#options;
    const { theme, rows } = place;
    const heading = titleLines(theme, title, width).slice(0, Math.max(1, rows - 8));
    return [
      rule(theme, width),
      ...heading,
      ...this.#text.render(width, Math.max(2, rows - heading.length - 8)),
      ...this.#field.render(width),
      ...(this.#problem === undefined ? [] : textLines(this.#problem, width).map(theme.style.error)),
      ...hintLines(
        theme,
        [
          [keyName("tui.select.confirm"), "take it"],
          [keyName("tui.select.cancel"), "leave"],
        ],
        width,
      ),
      rule(theme, width),
    ];
  }

  invalidate(): void {
    this.#field.invalidate();
  }

  #take(): void {
    const text = this.#field.getValue();
    this.#problem = this.#options.problem?.(text);
    if (this.#problem === undefined) this.#options.onDone(text);
  }
}
