import type { CliIo } from "./io.ts";
import { outputJson } from "./output-json.ts";
import { type Line, renderLine, span } from "./views/line.ts";
import { printableLines } from "./views/printable.ts";
import { wrap } from "./views/text-width.ts";

const defaultWidth = 80;
const pipeWidth = 120;
const minWidth = 24;
const maxNoticeWidth = 100;

/** Something that is neither the result nor an error. */
export interface Notice {
  code: string;
  message: string;
}

/** The edge to the screen: one JSON value, or lines for a human. */
export class Output {
  /** True when the caller asked for JSON. */
  readonly wantsJson: boolean;
  /** Columns that human output may take on stdout. */
  readonly width: number;
  /** The same of notices and errors, on stderr. */
  readonly noticeWidth: number;
  readonly #io: CliIo;
  readonly #isQuiet: boolean;
  /** What was told already: settings and sessions are read more than once. */
  readonly #told = new Set<string>();

  /** @param isQuiet nothing on stderr; errors are not its business */
  constructor(io: CliIo, wantsJson: boolean, isQuiet = false) {
    this.#io = io;
    this.wantsJson = wantsJson;
    this.#isQuiet = isQuiet;
    this.width = screenWidth(io);
    const behind = { stdout: io.stderr, stderr: io.stdout, env: io.env };
    this.noticeWidth = Math.min(screenWidth(behind), maxNoticeWidth);
  }

  /** Prints one JSON value: indented on a terminal, on one line elsewhere. */
  json(value: unknown): void {
    this.#io.stdout.write(`${outputJson(value, this.#io.stdout.isTTY ? 2 : 0)}\n`);
  }

  /** Prints lines for a human. */
  lines(lines: Iterable<Line>): void {
    const colour = wantsColour(this.#io, this.#io.stdout);
    let text = "";
    for (const line of lines) {
      text += `${renderLine(line, colour)}\n`;
      if (text.length < 65_536) continue;
      this.#io.stdout.write(text);
      text = "";
    }
    if (text !== "") this.#io.stdout.write(text);
  }

  /** Prints lines on stderr: what is worth knowing beside the result. */
  notice(...lines: Line[]): void {
    if (!this.#isQuiet) this.say(...lines);
  }

  /** The same also where nothing but errors was asked for: a question that is waited for has to be seen. */
  say(...lines: Line[]): void {
    const colour = wantsColour(this.#io, this.#io.stderr);
    this.#io.stderr.write(lines.map((line) => `${renderLine(line, colour)}\n`).join(""));
  }

  /** Tells what is worth knowing beside the result, on stderr: for a human, or as one line of JSON. */
  tell({ code, message }: Notice): void {
    if (this.#isQuiet || this.#told.has(message)) return;
    this.#told.add(message);
    if (this.wantsJson) this.#io.stderr.write(`${outputJson({ notice: { code, message } })}\n`);
    else {
      const lines = printableLines(message).flatMap((line) => wrap(line, this.noticeWidth - 2));
      this.notice(...lines.map((line, at) => [span(at === 0 ? "! " : "  ", ["bold", "yellow"]), line]));
    }
  }

  /** Prints `value` as JSON when asked for, else the lines of its view. */
  result(value: unknown, view: () => Iterable<Line>): void {
    if (this.wantsJson) this.json(value);
    else this.lines(view());
  }
}

function screenWidth(io: Pick<CliIo, "stdout" | "stderr" | "env">): number {
  // Behind a pipe (`| less`) the terminal can still be seen on stderr.
  const columns = io.stdout.columns ?? Number(io.env.COLUMNS || io.stderr.columns || Number.NaN);
  if (Number.isInteger(columns) && columns > 0) return Math.max(minWidth, columns);
  return io.stdout.isTTY ? defaultWidth : pipeWidth;
}

/** Node's own rule: FORCE_COLOR before NO_COLOR before what the stream is. */
export function wantsColour(io: Pick<CliIo, "env">, stream: { isTTY?: boolean | undefined }): boolean {
  const { FORCE_COLOR: force, NO_COLOR: no, TERM: terminal } = io.env;
  if (force !== undefined) return force !== "0" && force !== "false";
  if (no !== undefined && no !== "") return false;
  return stream.isTTY === true && terminal !== "dumb";
}
