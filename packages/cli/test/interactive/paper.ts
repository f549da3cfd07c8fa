import {
  type Before,
  type Frame,
  reflow,
  type ScreenChange,
  type Shown,
  screenPlan,
} from "../../src/interactive/terminal/screen-plan.ts";

/** What stands on it before. */
export const shell = ["shell 1", "shell 2", "shell 3"];
const rule = "-----";

/** All that a terminal has, line by line, the last of it on its screen. No line is wider than it is. */
export class Paper {
  readonly lines = [...shell];
  /** The first line on the screen. */
  base: number;
  rows: number;
  shown: Shown = { frame: { lines: [], kept: 0 }, top: 0, scrolled: 0 };
  /** So many lines, the last, are what is drawn. */
  #drawn = 0;

  constructor(rows: number) {
    this.rows = rows;
    this.base = Math.max(0, shell.length - rows);
  }

  get scrollback(): string[] {
    return this.lines.slice(0, this.base);
  }

  get screen(): string[] {
    return this.lines.slice(this.base);
  }

  get #onScreen(): string[] {
    return this.#drawn === 0 ? [] : this.lines.slice(-this.#drawn);
  }

  show(frame: Frame, change: ScreenChange): void {
    const { shown, rows } = this;
    const plan = screenPlan({ shown, frame, rows, change });
    this.#clear(plan.before);
    this.#print(plan.lines);
    this.#drawn = Math.min(rows, plan.lines.length);
    this.shown = plan.shown;
  }

  resize({ rows, below, takesBack, hasOtherColumns }: Size): ScreenChange {
    const cursorRow = Math.max(0, this.#drawn - 1 - below);
    const { pushed } = reflow({ lines: this.#onScreen, cursorRow, cursorColumn: 0 }, { columns: 80, rows });
    const over = Math.max(0, this.screen.length - rows);
    const cut = Math.min(over, Math.max(0, this.#drawn - 1 - cursorRow));
    this.lines.length -= cut;
    this.#drawn -= cut;
    const base = Math.max(0, this.lines.length - rows);
    this.base = takesBack ? base : Math.max(this.base, base);
    this.rows = rows;
    return { kind: "size", pushed, hasOtherColumns };
  }

  /** Somebody else has the terminal. */
  lend(): ScreenChange {
    this.#print(["$ date", "today"]);
    this.#drawn = 0;
    return { kind: "begin" };
  }

  #clear(before: Before): void {
    if (before.kind === "foreign") return;
    const first = Math.max(this.base, this.lines.length - this.#drawn);
    if (before.kind === "scrollsOff") {
      this.lines.splice(first, before.known);
      this.lines.length = first + before.left;
      this.lines.push(rule);
      this.base = this.lines.length;
      return;
    }
    this.lines.length = first;
  }

  #print(lines: readonly string[]): void {
    this.lines.push(...lines);
    this.base = Math.max(this.base, this.lines.length - this.rows);
  }
}

export interface Size {
  rows: number;
  /** So many lines stand below the cursor: with fewer rows they go first. */
  below: number;
  /** More rows show again what has left the screen. */
  takesBack: boolean;
  hasOtherColumns: boolean;
}
