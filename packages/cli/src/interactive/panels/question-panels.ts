import type { Panel, Screen } from "../terminal/screen.ts";
import { Editor, getKeybindings } from "../terminal/tui.ts";
import { ChoiceBar } from "./choice-bar.ts";
import {
  FieldPanel,
  framed,
  headingLines,
  hintLines,
  type KeyHint,
  keyName,
  type PanelPlace,
  TextField,
  textLines,
} from "./panel-frame.ts";
import { ScrolledLines } from "./report-panel.ts";

export interface ConfirmPanelOptions {
  place: PanelPlace;
  title: string;
  message: string;
  /** Undefined if the user leaves the question. */
  onAnswer: (isYes: boolean | undefined) => void;
  /** For a question that opens by itself: see `ChoiceBar`. */
  typeThrough?: (data: string) => void;
}

/** A question with yes or no; Enter alone is a no. */
export class ConfirmPanel implements Panel {
  readonly #options: ConfirmPanelOptions;
  readonly #text: ScrolledLines;
  readonly #bar: ChoiceBar<boolean>;

  constructor(options: ConfirmPanelOptions) {
    this.#options = options;
    this.#text = messageLines(options.message);
    this.#bar = new ChoiceBar({
      choices: [
        { value: true, letter: "y", label: () => " Yes " },
        { value: false, letter: "n", label: () => " No " },
      ],
      initial: 1,
      onAnswer: options.onAnswer,
      typeThrough: options.typeThrough,
    });
  }

  handleInput(data: string): void {
    const { onAnswer, place } = this.#options;
    if (getKeybindings().matches(data, "tui.select.cancel")) onAnswer(undefined);
    else if (!this.#bar.handleInput(data)) this.#text.handleInput(data);
    place.redraw();
  }

  render(width: number): string[] {
    const { place, title, typeThrough } = this.#options;
    const lines = [
      ...questionLines(place, title, this.#text, width),
      ...this.#bar.render(width, place.theme),
    ];
    const letters: KeyHint[] = typeThrough
      ? [["y or n", "choose"]]
      : [
          ["y", "yes"],
          ["n", "no"],
        ];
    return framed(place.theme, width, lines, [
      ...letters,
      ["Tab", "switch"],
      [keyName("tui.select.confirm"), "confirm"],
      [keyName("tui.select.cancel"), "leave"],
    ]);
  }

  invalidate(): void {}
}

export interface InputPanelOptions {
  place: PanelPlace;
  title: string;
  message?: string;
  value?: string;
  placeholder?: string | undefined;
  isSecret?: boolean;
  /** Returns why a text cannot be accepted. Default: accepts every text. */
  problem?: (text: string) => string | undefined;
  onDone: (text: string | undefined) => void;
}

/** A question with a line to type. */
export class InputPanel extends FieldPanel<TextField> {
  readonly #options: InputPanelOptions;
  readonly #text: ScrolledLines;
  #problem: string | undefined;

  constructor(options: InputPanelOptions) {
    const { place, value = "", placeholder, isSecret = false, message = "" } = options;
    super(new TextField({ theme: place.theme, value, placeholder, isSecret }));
    this.#options = options;
    this.#text = messageLines(message);
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
    const lines = [
      ...questionLines(place, title, this.#text, width),
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
    // The editor's own submit removes spaces around the text.
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

function messageLines(message: string): ScrolledLines {
  return new ScrolledLines((width) => (message === "" ? [] : textLines(message, width)));
}

function questionLines(place: PanelPlace, title: string, text: ScrolledLines, width: number): string[] {
  const heading = headingLines(place, title, width);
  return [
    ...heading,
    ...text.renderCounted(width, Math.max(2, place.rows - heading.length - 8), place.theme),
  ];
}
