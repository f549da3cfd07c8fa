import type { Theme } from "../terminal/theme.ts";
import { getKeybindings, type KeyId, matchesKey, visibleWidth } from "../terminal/tui.ts";
import { isTypedText } from "../terminal/typed-input.ts";
import { textLines } from "./panel-frame.ts";

interface Choice<Value> {
  value: Value;
  letter: KeyId;
  label: () => string;
}

interface ChoiceBarOptions<Value> {
  choices: readonly Choice<Value>[];
  /** Index of the choice that is selected at first and after typing. */
  initial: number;
  onAnswer: (value: Value) => void;
  /**
   * For questions that open by themselves, perhaps while the user types: a letter selects but does not answer, and typed
   * text and its Enter go here. Default: a letter answers.
   */
  typeThrough?: ((data: string) => void) | undefined;
}

const NEXT: readonly KeyId[] = ["right", "tab"];
const PREVIOUS: readonly KeyId[] = ["left", "shift+tab"];

/** The answers of a question, side by side. Owner of the selection and of whether the user types a prompt. */
export class ChoiceBar<Value> {
  readonly #options: ChoiceBarOptions<Value>;
  #at: number;
  /** A letter that selected, or the beginning of typed text. */
  #letter = "";
  #isTyping = false;

  constructor(options: ChoiceBarOptions<Value>) {
    this.#options = options;
    this.#at = options.initial;
  }

  /** @returns false for a key without a meaning here */
  handleInput(data: string): boolean {
    if (isTypedText(data)) this.#type(data);
    else if (getKeybindings().matches(data, "tui.select.confirm")) this.#confirm(data);
    else if (NEXT.some((key) => matchesKey(data, key))) this.#move(1);
    else if (PREVIOUS.some((key) => matchesKey(data, key))) this.#move(-1);
    else return false;
    return true;
  }

  /** The choices, on as many lines as they need. */
  render(width: number, { style }: Theme): string[] {
    const lines: { text: string; columns: number }[] = [{ text: "", columns: 0 }];
    for (const [at, { label }] of this.#options.choices.entries()) {
      const text = label();
      const columns = visibleWidth(text);
      const drawn = at === this.#at ? style.selectedBg(text) : style.muted(text);
      const line = lines.at(-1)!;
      if (line.columns === 0 || line.columns + columns <= width - 1) {
        line.text += drawn;
        line.columns += columns;
      } else lines.push({ text: drawn, columns });
    }
    const typing = "Typed text goes to the prompt. Press Tab to answer here.";
    return [
      ...lines.map(({ text }) => ` ${text}`),
      ...(this.#isTyping ? textLines(typing, width).map(style.muted) : []),
    ];
  }

  #move(by: number): void {
    const { length } = this.#options.choices;
    this.#at = (this.#at + by + length) % length;
    this.#letter = "";
    this.#isTyping = false;
  }

  /** After typed text, Enter belongs to the prompt and answers nothing. */
  #confirm(data: string): void {
    const { choices, onAnswer, typeThrough } = this.#options;
    if (this.#isTyping) typeThrough?.(data);
    else onAnswer(choices[this.#at]!.value);
    this.#isTyping = false;
  }

  #type(data: string): void {
    const { choices, initial, onAnswer, typeThrough } = this.#options;
    const at = choices.findIndex(
      ({ letter }) => matchesKey(data, letter) || matchesKey(data, `shift+${letter}` as KeyId),
    );
    if (typeThrough === undefined) {
      if (at >= 0) onAnswer(choices[at]!.value);
    } else if (at >= 0 && !this.#isTyping && this.#letter === "") {
      this.#at = at;
      this.#letter = data;
    } else {
      if (this.#letter !== "") typeThrough(this.#letter);
      typeThrough(data);
      this.#letter = "";
      this.#at = initial;
      this.#isTyping = true;
    }
  }
}
