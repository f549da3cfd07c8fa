import xterm from "@xterm/headless";
import type { Terminal } from "../../src/interactive/terminal/tui.ts";
import { keySequence } from "./key-sequences.ts";

export interface HeadlessTerminalOptions {
  /** Default 80. */
  columns?: number;
  /** Default 24. */
  rows?: number;
  /** What it answers when it is asked for its background, as `#rrggbb`. Default: no answer. */
  background?: string;
  /** What stands on it before. Default: nothing. */
  before?: string;
}

/** A text that a screen should have, or a look at it. */
export type Seen = string | RegExp | ((screen: string) => boolean);

/** `until` gives up then, and shows the screen. */
const timeoutMs = 20_000;

/** A terminal without a window: keys are pressed, and what stands on its screen is read as text. */
export class HeadlessTerminal implements Terminal {
  /** Of each write, what was written: for colours and sequences that the screen's text does not show. */
  readonly written: string[] = [];
  title = "";
  readonly kittyProtocolActive = false;
  readonly #xterm: InstanceType<typeof xterm.Terminal>;
  #onInput: ((data: string) => void) | undefined;
  #onResize: (() => void) | undefined;
  readonly #waiting = new Set<() => void>();
  #left: string | undefined;
  #cursor = true;
  /** Of `written`, so many are on the screen. */
  #drawn = 0;

  constructor({ columns = 80, rows = 24, background, before }: HeadlessTerminalOptions = {}) {
    this.#xterm = new xterm.Terminal({
      cols: columns,
      rows,
      scrollback: 100_000,
      allowProposedApi: true,
    });
    this.#xterm.onTitleChange((title) => {
      this.title = title;
    });
    for (const final of ["h", "l"])
      this.#xterm.parser.registerCsiHandler({ prefix: "?", final }, (modes) => {
        if (modes.includes(25)) this.#cursor = final === "h";
        return false;
      });
    if (before !== undefined) this.#xterm.write(before);
    // What it is asked for, it answers as a terminal does.
    this.#xterm.onData((data) => this.#onInput?.(data));
    if (background === undefined) return;
    this.#xterm.parser.registerOscHandler(11, (data) => {
      if (data === "?") this.#onInput?.(`\x1b]11;rgb:${background.slice(1).match(/../g)!.join("/")}\x07`);
      return true;
    });
  }

  get columns(): number {
    return this.#xterm.cols;
  }

  get rows(): number {
    return this.#xterm.rows;
  }

  get isStarted(): boolean {
    return this.#onInput !== undefined;
  }

  start(onInput: (data: string) => void, onResize: () => void): void {
    this.#onInput = onInput;
    this.#onResize = onResize;
  }

  stop(): void {
    this.#onInput = undefined;
    this.#onResize = undefined;
  }

  async drainInput(): Promise<void> {}

  write(data: string): void {
    this.written.push(data);
    this.#xterm.write(data, () => {
      this.#drawn += 1;
      for (const look of [...this.#waiting]) look();
    });
  }

  moveBy(lines: number): void {
    if (lines !== 0) this.write(`\x1b[${Math.abs(lines)}${lines > 0 ? "B" : "A"}`);
  }

  hideCursor(): void {
    this.write("\x1b[?25l");
  }

  showCursor(): void {
    this.write("\x1b[?25h");
  }

  clearLine(): void {
    this.write("\x1b[K");
  }

  clearFromCursor(): void {
    this.write("\x1b[J");
  }

  clearScreen(): void {
    this.write("\x1b[2J\x1b[H");
  }

  setTitle(title: string): void {
    this.write(`\x1b]0;${title}\x07`);
  }

  setProgress(): void {}

  /** Sends text as fingers do, key by key; a line feed is Enter. */
  type(text: string): void {
    for (const character of text) this.send(character === "\n" ? "\r" : character);
  }

  /** Sends text as a paste. */
  paste(text: string): void {
    this.send(`\x1b[200~${text}\x1b[201~`);
  }

  /** Presses keys, one after the other: `enter`, `esc`, `ctrl+c`, `shift+tab`, `alt+up`, `pageDown`. */
  press(...keys: string[]): void {
    for (const key of keys) this.send(keySequence(key));
  }

  /** What a terminal would send, as it is. Nobody gets it before `start` and after `stop`. */
  send(data: string): void {
    this.#onInput?.(data);
  }

  resize(columns: number, rows: number): void {
    this.#xterm.resize(columns, rows);
    this.#onResize?.();
  }

  /** Whether the terminal's own cursor is seen, and whether it says what is a paste. */
  modes(): { cursor: boolean; bracketedPaste: boolean } {
    return { cursor: this.#cursor, bracketedPaste: this.#xterm.modes.bracketedPasteMode };
  }

  /** The lines that are seen, without blanks at their ends, without empty lines at the end. */
  screen(): string {
    const { baseY } = this.#xterm.buffer.active;
    return this.#lines(baseY, baseY + this.rows);
  }

  /** All lines since the start, with those that left the screen at its top. */
  scrollback(): string {
    return this.#lines(0, this.#xterm.buffer.active.length);
  }

  /**
   * Waits until what is seen is as it should be: looked at now and after each write, once the terminal has done it.
   * @returns the screen
   */
  async until(what: Seen): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const giveUp = (why: string) =>
      reject(new Error(`${why}: ${String(what)}\nThe screen:\n${this.screen()}`));
    const look = () => {
      const screen = this.screen();
      if (isSeen(screen, what)) resolve(screen);
      else if (this.#left !== undefined) giveUp(`${this.#left} before this came`);
    };
    const timer = setTimeout(giveUp, timeoutMs, "This never came");
    this.#waiting.add(look);
    // Once what was written so far is on the screen.
    this.#xterm.write("", look);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(look);
    }
  }

  /** Waits until the keys that were pressed are answered on the screen; not for what takes its time. */
  async settle(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    // Its own empty write comes back last: `until` would be content with the first of several.
    await new Promise<void>((resolve) => this.#xterm.write("", resolve));
  }

  /** Nothing more comes: who waits gets the reason. */
  leave(why: string): void {
    this.#left = why;
    this.write("");
  }

  /** The next write that comes, done: its screen. */
  async nextFrame(): Promise<string> {
    const before = this.written.length;
    return this.until(() => this.#drawn > before);
  }

  #lines(from: number, to: number): string {
    const buffer = this.#xterm.buffer.active;
    const lines: string[] = [];
    for (let at = from; at < to; at += 1)
      lines.push(buffer.getLine(at)?.translateToString(true).trimEnd() ?? "");
    return lines.join("\n").trimEnd();
  }
}

export function isSeen(screen: string, what: Seen): boolean {
  if (typeof what === "string") return screen.includes(what);
  return typeof what === "function" ? what(screen) : what.test(screen);
}
