import type { LoginCallbacks } from "@bonsai-agent/models/login";
import { oneLine, printable } from "../../views/terminal-text.ts";
import type { Panel } from "../terminal/screen.ts";
import { type Focusable, getCapabilities, getKeybindings, hyperlink, matchesKey } from "../terminal/tui.ts";
import {
  framed,
  headingLines,
  type KeyHint,
  keyName,
  type PanelPlace,
  TextField,
  textLines,
} from "./panel-frame.ts";

type DeviceCodeInfo = Parameters<LoginCallbacks["onDeviceCode"]>[0];
type LoginPrompt = Parameters<LoginCallbacks["onPrompt"]>[0];

interface LoginPanelOptions {
  place: PanelPlace;
  title: string;
  onCopy: (text: string) => void;
  onOpen: (url: string) => void;
  onCancel: () => void;
}

interface Question extends LoginPrompt {
  field: TextField;
  answer: (text: string) => void;
}

interface Shown {
  url: string;
  code?: string | undefined;
  instructions?: string | undefined;
}

const MAX_CODE_CHARS = 40;
const MAX_PROGRESS_LINES = 3;
/** Rows of the screen around an address. */
const ROWS_AROUND = 12;

/** A running login: its address, code, progress and questions. */
export class LoginPanel implements Panel, Focusable {
  readonly #options: LoginPanelOptions;
  #shown: Shown | undefined;
  /** The user has pasted the result from the address. */
  #isPasted = false;
  #progress: readonly string[] = [];
  #status = "";
  /** The latest is last. */
  #questions: readonly Question[] = [];
  #isFocused = false;

  constructor(options: LoginPanelOptions) {
    this.#options = options;
  }

  get focused(): boolean {
    return this.#isFocused;
  }

  set focused(isFocused: boolean) {
    this.#isFocused = isFocused;
    for (const { field } of this.#questions) field.focused = false;
    const asked = this.#questions.at(-1);
    if (asked !== undefined) asked.field.focused = isFocused;
  }

  showUrl(url: string, instructions?: string): void {
    this.#show({ url, instructions });
  }

  showCode({ userCode, verificationUri }: DeviceCodeInfo): void {
    const code = oneLine(userCode, MAX_CODE_CHARS);
    this.#show({
      url: verificationUri,
      code,
      instructions: "Open the address in any browser and enter this code. Bonsai continues by itself.",
    });
  }

  progress(message: string): void {
    this.#progress = [...this.#progress, message].slice(-MAX_PROGRESS_LINES);
    this.#options.place.redraw();
  }

  status(message: string): void {
    this.#status = message;
    this.#options.place.redraw();
  }

  ask(prompt: LoginPrompt): Promise<string> {
    const { placeholder, isSecret = false } = prompt;
    const { place } = this.#options;
    const field = new TextField({ theme: place.theme, placeholder, isSecret });
    return new Promise((resolve) => {
      const question: Question = {
        ...prompt,
        field,
        answer: (text) => {
          this.#questions = this.#questions.filter((each) => each !== question);
          this.focused = this.#isFocused;
          resolve(text);
        },
      };
      this.#questions = [...this.#questions, question];
      this.focused = this.#isFocused;
      place.redraw();
    });
  }

  /** Asks for the browser's final address. Hides the login's address after the answer. */
  async askForCode(message: string): Promise<string> {
    this.#isPasted = false;
    const text = await this.ask({ message });
    this.#isPasted = true;
    this.#status = "";
    this.#options.place.redraw();
    return text;
  }

  get #offered(): Shown | undefined {
    return this.#isPasted ? undefined : this.#shown;
  }

  handleInput(data: string): void {
    const keys = getKeybindings();
    const { onCancel, onCopy, onOpen, place } = this.#options;
    const asked = this.#questions.at(-1);
    const offered = this.#offered;
    const copied = offered?.code ?? offered?.url;
    if (keys.matches(data, "tui.select.cancel")) onCancel();
    else if (matchesKey(data, "tab")) {
      if (copied !== undefined) onCopy(copied);
    } else if (!keys.matches(data, "tui.select.confirm")) asked?.field.handleInput(data);
    else if (asked === undefined || (asked.field.getValue() === "" && asked.allowEmpty !== true)) {
      if (offered !== undefined) onOpen(offered.url);
    } else asked.answer(asked.field.getValue());
    place.redraw();
  }

  render(width: number): string[] {
    const { place, title } = this.#options;
    const [asked, offered] = [this.#questions.at(-1), this.#offered];
    const { dim } = place.theme.style;
    const lines = [
      ...headingLines(place, title, width),
      ...(offered === undefined ? [] : ["", ...this.#shownLines(offered, width), ""]),
      ...this.#progress.flatMap((each) => textLines(each, width).slice(0, 2)).map(dim),
      ...(this.#status === "" ? [] : textLines(this.#status, width).map(dim)),
      ...(asked === undefined
        ? []
        : [...textLines(asked.message, width).slice(0, 6), ...asked.field.render(width)]),
    ];
    return framed(place.theme, width, lines, this.#hints());
  }

  invalidate(): void {
    for (const { field } of this.#questions) field.invalidate();
  }

  #show(shown: Shown): void {
    this.#shown = shown;
    this.#isPasted = false;
    this.#status = "";
    this.#options.place.redraw();
  }

  #shownLines({ url, code, instructions = "" }: Shown, width: number): string[] {
    const { theme, rows } = this.#options.place;
    const [address, words] = [urlLines(url, width, rows - ROWS_AROUND), textLines(instructions, width)];
    const link = address.map((line) => theme.style.accent(line));
    if (code === undefined) return [...link, ...(instructions === "" ? [] : words)];
    return [...link, ...words, ...codeLines(code, width).map((line) => theme.style.bold(line))];
  }

  #hints(): KeyHint[] {
    const [asked, offered] = [this.#questions.at(-1), this.#offered];
    const enter = keyName("tui.select.confirm");
    return [
      ...(asked === undefined ? [] : [[enter, "answer"] as const]),
      ...(asked === undefined && offered !== undefined ? [[enter, "open browser"] as const] : []),
      ...(offered === undefined
        ? []
        : [["Tab", offered.code === undefined ? "copy address" : "copy code"] as const]),
      [keyName("tui.select.cancel"), "cancel"],
    ];
  }
}

/**
 * An address over as many lines as it takes, from edge to edge, so that it can be selected; a link where the terminal knows
 * links. One that no browser opens is a text like any other.
 */
function urlLines(url: string, width: number, rows: number): string[] {
  const address = URL.parse(url);
  if (address === null || !/^https?:$/.test(address.protocol)) return textLines(printable(url), width);
  const { href } = address;
  const pieces = href.match(new RegExp(`.{1,${Math.max(1, width)}}`, "g")) ?? [];
  const most = Math.max(2, rows);
  const fitting = pieces.length <= most ? pieces : [...pieces.slice(0, most - 1), "…"];
  return getCapabilities().hyperlinks ? fitting.map((piece) => hyperlink(piece, href)) : fitting;
}

function codeLines(code: string, width: number): string[] {
  if (code.length + 6 > width) return textLines(code, width);
  const line = "─".repeat(code.length + 2);
  return [` ┌${line}┐`, ` │ ${code} │`, ` └${line}┘`];
}
