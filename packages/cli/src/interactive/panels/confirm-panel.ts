import type { Panel } from "../screen.ts";
import { getKeybindings, type KeyId, matchesKey } from "../terminal/tui.ts";
import {
  hintLines,
  type KeyHint,
  keyName,
  type PanelPlace,
  rule,
  textLines,
  titleLines,
} from "./panel-frame.ts";
import { ScrolledText } from "./scrolled-text.ts";
import { isTypedText } from "./typing-rest.ts";

export interface ConfirmPanelOptions {
  place: PanelPlace;
  title: string;
  message: string;
  onAnswer: (isYes: boolean) => void;
  /** The user leaves it without an answer. Default: that is a no. */
  onLeave?: () => void;
  /**
   * Where the question comes by itself, perhaps while the user types: a letter does not answer it then, and what is typed
   * goes here. Default: the user has asked for it.
   */
  typeThrough?: (data: string) => void;
}

/** Keys that go from one answer to the other. */
const changes: readonly KeyId[] = ["left", "right", "tab"];

/** A question with yes or no; whoever only presses Enter has said no. */
export class ConfirmPanel implements Panel {
  readonly #options: ConfirmPanelOptions;
  readonly #text: ScrolledText;
  #isYes = false;
  /** Letters that may be an answer, or the beginning of what somebody types. */
  #letters = "";
  #isTyping = false;

  constructor(options: ConfirmPanelOptions) {
    this.#options = options;
    this.#text = new ScrolledText(options.message, options.place.theme);
  }

  handleInput(data: string): void {
    const { onAnswer, onLeave = () => onAnswer(false), place } = this.#options;
    const keys = getKeybindings();
    if (isTypedText(data)) this.#letter(data);
    else if (keys.matches(data, "tui.select.cancel")) onLeave();
    else if (keys.matches(data, "tui.select.confirm")) {
      // Of somebody who types, that is the end of a prompt, and no answer.
      if (!this.#isTyping) onAnswer(this.#isYes);
      this.#isTyping = false;
    } else if (changes.some((key) => matchesKey(data, key))) {
      this.#isYes = !this.#isYes;
      this.#isTyping = false;
    } else this.#text.handleInput(data);
    place.redraw();
  }

  #letter(data: string): void {
    const { onAnswer, typeThrough } = this.#options;
    const isYes = matchesKey(data, "y") || matchesKey(data, "shift+y");
    const isAnswer = isYes || matchesKey(data, "n") || matchesKey(data, "shift+n");
    if (typeThrough === undefined) {
      if (isAnswer) onAnswer(isYes);
    } else if (isAnswer && !this.#isTyping && this.#letters === "") {
      this.#isYes = isYes;
      this.#letters = data;
    } else {
      if (this.#letters !== "") typeThrough(this.#letters);
      typeThrough(data);
      this.#letters = "";
      this.#isYes = false;
      this.#isTyping = true;
    }
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
      ...(this.#isTyping ? textLines("What you type goes where you were typing.", width).map(muted) : []),
      ...hintLines(
        theme,
        [
          ...this.#letterHints(),
          ["Tab", "change"],
          [keyName("tui.select.confirm"), "take it"],
          [keyName("tui.select.cancel"), this.#options.onLeave === undefined ? "no" : "not now"],
        ],
        width,
      ),
      rule(theme, width),
    ];
  }

  invalidate(): void {}

  #letterHints(): KeyHint[] {
    if (this.#options.typeThrough !== undefined) return [["y or n", "choose"]];
    return [
      ["y", "yes"],
      ["n", "no"],
    ];
  }
}
