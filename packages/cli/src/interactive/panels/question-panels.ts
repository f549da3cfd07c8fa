import { counted } from "../../views/numbers.ts";
import type { Panel, Screen } from "../terminal/screen.ts";
import type { Theme } from "../terminal/theme.ts";
import { Editor, getKeybindings, type KeyId, matchesKey } from "../terminal/tui.ts";
import { isTypedText } from "../terminal/typed-input.ts";
import {
  FieldPanel,
  framed,
  headingLines,
  hintLines,
  type KeyHint,
  keyName,
  type PanelPlace,
  scrollStep,
  TextField,
  textLines,
} from "./panel-frame.ts";

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

/** A question with yes or no; Enter alone is a no. */
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
    const { place, title, onLeave, typeThrough } = this.#options;
    const heading = headingLines(place, title, width);
    const { selectedBg: selected, muted } = place.theme.style;
    const [yes, no] = [" Yes ", " No "];
    const letters: KeyHint[] =
      typeThrough === undefined
        ? [
            ["y", "yes"],
            ["n", "no"],
          ]
        : [["y or n", "choose"]];
    const lines = [
      ...heading,
      ...this.#text.render(width, Math.max(2, place.rows - heading.length - 8)),
      ` ${this.#isYes ? selected(yes) : muted(yes)} ${this.#isYes ? muted(no) : selected(no)}`,
      ...(this.#isTyping
        ? textLines("Typed text goes to the prompt. Press Tab to answer here.", width).map(muted)
        : []),
    ];
    return framed(place.theme, width, lines, [
      ...letters,
      ["Tab", "switch"],
      [keyName("tui.select.confirm"), "confirm"],
      [keyName("tui.select.cancel"), onLeave === undefined ? "no" : "not now"],
    ]);
  }

  invalidate(): void {}
}

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
export class InputPanel extends FieldPanel<TextField> {
  readonly #options: InputPanelOptions;
  readonly #text: ScrolledText;
  #problem: string | undefined;

  constructor(options: InputPanelOptions) {
    const { place, value = "", placeholder, isSecret = false, message = "" } = options;
    super(new TextField({ theme: place.theme, value, placeholder, isSecret }));
    this.#options = options;
    this.#text = new ScrolledText(message, place.theme);
  }

  handleInput(data: string): void {
    const keys = getKeybindings();
    if (keys.matches(data, "tui.select.cancel")) this.#options.onDone(undefined);
    else if (keys.matches(data, "tui.select.confirm")) this.#take();
    else if (!this.#text.handleInput(data)) this.field.handleInput(data);
    this.#options.place.redraw();
  }

  render(width: number): string[] {
    const { place, title } = this.#options;
    const heading = headingLines(place, title, width);
    const lines = [
      ...heading,
      ...this.#text.render(width, Math.max(2, place.rows - heading.length - 8)),
      ...this.field.render(width),
      ...(this.#problem === undefined ? [] : textLines(this.#problem, width).map(place.theme.style.error)),
    ];
    return framed(place.theme, width, lines, [
      [keyName("tui.select.confirm"), "confirm"],
      [keyName("tui.select.cancel"), "leave"],
    ]);
  }

  #take(): void {
    const text = this.field.getValue();
    this.#problem = this.#options.problem?.(text);
    if (this.#problem === undefined) this.#options.onDone(text);
  }
}

interface EditorPanelOptions {
  screen: Screen;
  title: string;
  prefill: string;
  onDone: (text: string | undefined) => void;
}

/** A question with a text of several lines to type. */
export class EditorPanel extends FieldPanel<Editor> {
  readonly #options: EditorPanelOptions;

  constructor(options: EditorPanelOptions) {
    const { screen, prefill } = options;
    super(new Editor(screen.tui, screen.theme.editor));
    this.#options = options;
    this.field.setText(prefill);
    // What the editor hands over is trimmed: blanks around a text can be meant.
    this.field.disableSubmit = true;
  }

  handleInput(data: string): void {
    const keys = getKeybindings();
    const { onDone, screen } = this.#options;
    if (keys.matches(data, "tui.select.cancel")) onDone(undefined);
    else if (keys.matches(data, "tui.input.submit") && !keys.matches(data, "tui.input.newLine"))
      onDone(this.field.getExpandedText());
    else this.field.handleInput(data);
    screen.redraw();
  }

  render(width: number): string[] {
    const { screen, title } = this.#options;
    const hints: KeyHint[] = [
      [keyName("tui.input.submit"), "confirm"],
      [keyName("tui.input.newLine"), "new line"],
      [keyName("tui.select.cancel"), "leave"],
    ];
    return [
      ...headingLines(screen, title, width),
      ...this.field.render(width),
      ...hintLines(screen.theme, hints, width),
    ];
  }
}

/** Owner of how far a text is scrolled that may be longer than the screen. */
class ScrolledText {
  readonly #text: string;
  readonly #theme: Theme;
  #first = 0;
  #page = 1;
  #cache: { width: number; lines: readonly string[] } | undefined;

  constructor(text: string, theme: Theme) {
    this.#text = text;
    this.#theme = theme;
  }

  /** @returns true where the key scrolled */
  handleInput(data: string): boolean {
    const step = scrollStep(data, this.#page);
    this.#first += step;
    return step !== 0;
  }

  /** @param rows at most so many lines */
  render(width: number, rows: number): string[] {
    if (this.#text === "") return [];
    if (this.#cache?.width !== width) this.#cache = { width, lines: textLines(this.#text, width) };
    const { lines } = this.#cache;
    if (lines.length <= rows) return [...lines];
    const page = Math.max(1, rows - 1);
    this.#page = page;
    this.#first = Math.max(0, Math.min(this.#first, lines.length - page));
    const left = lines.length - this.#first - page;
    const keys = `${keyName("tui.select.up")}/${keyName("tui.select.down")}`;
    const more = left > 0 ? `${counted(left, "more line")} (${keys})` : `end of text (${keys})`;
    return [
      ...lines.slice(this.#first, this.#first + page),
      ...textLines(more, width).slice(0, 1).map(this.#theme.style.dim),
    ];
  }
}
