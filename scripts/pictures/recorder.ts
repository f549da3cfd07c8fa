import { setTimeout as pause } from "node:timers/promises";
import { type IPty, spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import { PAPER, type Row, rowsOf, type Span } from "./draw.ts";

export interface RecorderOptions {
  columns: number;
  rows: number;
  command: readonly [string, ...string[]];
  cwd: string;
  env: Record<string, string>;
  /** Replacements for names that are new each time. */
  renamed: readonly (readonly [RegExp, string])[];
}

/** The demo takes half a minute. */
const TIMEOUT_MS = 90_000;
/** A screen is still if nothing but a spinner has moved for this long. */
const STILL_MS = 250;
const keys: Readonly<Record<string, string>> = {
  ...{ enter: "\r", esc: "\x1b", tab: "\t", up: "\x1b[A", down: "\x1b[B", right: "\x1b[C", left: "\x1b[D" },
  ...{ end: "\x1b[F", "ctrl+o": "\x0f", "ctrl+c": "\x03", "ctrl+u": "\x15" },
};

/** A program on a pseudo terminal. */
export class Recorder {
  readonly columns: number;
  readonly rowCount: number;
  readonly #xterm: InstanceType<typeof xterm.Terminal>;
  readonly #pty: IPty;
  readonly #waiting = new Set<() => void>();
  readonly #renamed: RecorderOptions["renamed"];

  constructor({ columns, rows, command: [program, ...words], cwd, env, renamed }: RecorderOptions) {
    this.#renamed = renamed;
    this.columns = columns;
    this.rowCount = rows;
    this.#xterm = new xterm.Terminal({ cols: columns, rows, scrollback: 10_000, allowProposedApi: true });
    this.#pty = spawn(program, words, { cols: columns, rows, cwd, env });
    this.#pty.onData((data) => this.#xterm.write(data, () => this.#written()));
    this.#xterm.onData((data) => this.#pty.write(data));
    this.#xterm.parser.registerOscHandler(11, (data) => {
      const color = PAPER.slice(1).match(/../g)!.join("/");
      if (data === "?") this.#pty.write(`\x1b]11;rgb:${color}\x07`);
      return true;
    });
  }

  /** A line feed is Enter. */
  type(text: string): void {
    for (const character of text) this.#pty.write(character === "\n" ? "\r" : character);
  }

  press(...names: string[]): void {
    for (const name of names) this.#pty.write(keys[name] ?? name);
  }

  text(): string {
    const { active } = this.#xterm.buffer;
    const line = (at: number) => active.getLine(active.baseY + at)?.translateToString(true) ?? "";
    return Array.from({ length: this.rowCount }, (_, at) => line(at)).join("\n");
  }

  async until(what: string | RegExp): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = () => {
      if (typeof what === "string" ? this.text().includes(what) : what.test(this.text())) resolve();
    };
    const never = () => reject(new Error(`The screen never showed: ${what}\nThe screen:\n${this.text()}`));
    const timer = setTimeout(never, TIMEOUT_MS);
    this.#waiting.add(look);
    look();
    await promise.finally(() => {
      clearTimeout(timer);
      this.#waiting.delete(look);
    });
  }

  /** Waits until nothing moves, then returns the visible lines. */
  async still(): Promise<Row[]> {
    for (let before = ""; ; ) {
      const rows = this.#rows();
      const now = JSON.stringify(rows);
      if (now === before) return rows;
      before = now;
      await pause(STILL_MS);
    }
  }

  end(): Promise<void> {
    return new Promise((resolve) => {
      this.#pty.onExit(() => resolve());
      this.#pty.kill("SIGKILL");
    });
  }

  #rows(): Row[] {
    const rows = rowsOf(this.#xterm.buffer.active, { rows: this.rowCount, columns: this.columns });
    return rows.map((row) => row.map((span) => this.#rename(span)));
  }

  #rename(span: Span): Span {
    const text = span.characters.join("");
    const renamed = this.#renamed.reduce((name, [what, by]) => name.replace(what, by), text);
    if (renamed === text) return span;
    const characters = Array.from(renamed);
    return { ...span, characters, widths: characters.map(() => 1) };
  }

  #written(): void {
    for (const look of [...this.#waiting]) look();
  }
}
