import type { Panel } from "../screen.ts";
import { getKeybindings, matchesKey } from "../terminal/tui.ts";
import { hintLines, keyName, rule, titleLines } from "./panel-frame.ts";
import type { PickPlace } from "./pick-list.ts";
import { ScrolledText } from "./scrolled-text.ts";

export interface ConfirmPanelOptions {
  place: PickPlace;
  title: string;
  message: string;
  onAnswer: (isYes: boolean) => void;
}

/** A question with yes or no; whoever only presses Enter has said no. */
export class ConfirmPanel implements Panel {
  readonly #options: ConfirmPanelOptions;
  readonly #text: ScrolledText;
  #isYes = false;

  constructor(options: ConfirmPanelOptions) {
    this.#options = options;
    this.#text = new ScrolledText(options.message, options.place.theme);
  }

  handleInput(data: string): void {
    const { onAnswer, place } = this.#options;
    const keys = getKeybindings();
    if (matchesKey(data, "y") || matchesKey(data, "shift+y")) onAnswer(true);
    else if (matchesKey(data, "n") || matchesKey(data, "shift+n")) onAnswer(false);
    else if (keys.matches(data, "tui.select.cancel")) onAnswer(false);
    else if (keys.matches(data, "tui.select.confirm")) onAnswer(this.#isYes);
    else if (["left", "right", "tab"].some((key) => matchesKey(data, key as "tab")))
      this.#isYes = !this.#isYes;
    else this.#text.handleInput(data);
    place.redraw();
  }

  render(width: number): string[] {
    const { place, title } = this.#options;
    const { theme, rows } = place;
    const heading = titleLines(theme, title, width).slice(0, Math.max(1, rows - 8));
    const { selected, muted } = theme.style;
    const [yes, no] = [" Yes ", " No "];
    return [
      rule(theme, width),
      ...heading,
      ...this.#text.render(width, Math.max(2, rows - heading.length - 8)),
      ` ${this.#isYes ? selected(yes) : muted(yes)} ${this.#isYes ? muted(no) : selected(no)}`,
      ...hintLines(
        theme,
        [
          ["y", "yes"],
          ["n", "no"],
          ["Tab", "change"],
          [keyName("tui.select.confirm"), "take it"],
          [keyName("tui.select.cancel"), "no"],
        ],
        width,
      ),
      rule(theme, width),
    ];
  }

  invalidate(): void {}
}
