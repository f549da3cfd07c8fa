import { statSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { type Line, marked, renderLine, span } from "../views/line.ts";
import { bytes, duration, percent } from "../views/numbers.ts";
import { printableLines, wrap } from "../views/terminal-text.ts";
import type { CliIo, OutStream } from "./io.ts";

const defaultWidth = 80;
const pipeWidth = 120;
const minWidth = 24;
const maxNoticeWidth = 100;

/** Neither a result nor an error. */
export interface Notice {
  code: string;
  message: string;
}

/** Prints results as JSON or lines, and notices on stderr. */
export class Output {
  readonly wantsJson: boolean;
  readonly width: number;
  readonly noticeWidth: number;
  readonly #io: CliIo;
  readonly #isQuiet: boolean;
  /** Settings and sessions are read more than once; each message is shown once. */
  readonly #notified = new Set<string>();

  /** @param isQuiet hides notices, but not errors */
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

  lines(lines: Iterable<Line>): void {
    for (const piece of inPieces(this.#rendered(lines))) this.#io.stdout.write(piece);
  }

  /**
   * Prints a long result while it is made: a JSON array, or the lines of the view. Waits for a slow reader, and
   * ends with it.
   */
  async list(values: () => Iterable<unknown>, view: () => Iterable<Line>): Promise<void> {
    const indent = this.#io.stdout.isTTY ? 2 : 0;
    if (!this.wantsJson) return this.text(this.#rendered(view()));
    await this.text(outputJsonList(values(), indent));
    this.#io.stdout.write("\n");
  }

  async text(parts: Iterable<string>): Promise<void> {
    const { stdout } = this.#io;
    for (const piece of inPieces(parts)) {
      if (stdout.write(piece) === false) await untilDrained(stdout);
      // A process notices only between two turns that its reader left.
      else if (piece.length >= PIECE_CHARACTERS) await turn();
    }
  }

  *#rendered(lines: Iterable<Line>): Generator<string> {
    const colour = wantsColour(this.#io, this.#io.stdout);
    for (const line of lines) yield `${renderLine(line, colour)}\n`;
  }

  note(...lines: Line[]): void {
    if (!this.#isQuiet) this.question(...lines);
  }

  /** Prints even with --quiet, because the program waits for an answer. */
  question(...lines: Line[]): void {
    const colour = wantsColour(this.#io, this.#io.stderr);
    this.#io.stderr.write(lines.map((line) => `${renderLine(line, colour)}\n`).join(""));
  }

  /** Prints a notice on stderr: for a human, or as one line of JSON. */
  notify({ code, message }: Notice): void {
    if (this.#isQuiet || this.#notified.has(message)) return;
    this.#notified.add(message);
    if (this.wantsJson) this.#io.stderr.write(`${outputJson({ notice: { code, message } })}\n`);
    else {
      const lines = printableLines(message).flatMap((line) => wrap(line, this.noticeWidth - 2));
      this.note(...marked(span("! ", ["bold", "yellow"]), lines));
    }
  }

  result(value: unknown, view: () => Iterable<Line>): void {
    if (this.wantsJson) this.json(value);
    else this.lines(view());
  }
}

const PIECE_CHARACTERS = 65_536;

function* inPieces(parts: Iterable<string>): Generator<string> {
  let text = "";
  for (const part of parts) {
    text += part;
    if (text.length < PIECE_CHARACTERS) continue;
    yield text;
    text = "";
  }
  if (text !== "") yield text;
}

/** Resolves when the stream takes more, at its end, or at the abort. */
export function untilDrained(stream: OutStream, signal?: AbortSignal): Promise<void> {
  if (stream.once === undefined) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const events = ["drain", "error", "close"] as const;
  const end = () => {
    for (const event of events) stream.removeListener?.(event, end);
    signal?.removeEventListener("abort", end);
    resolve();
  };
  for (const event of events) stream.once(event, end);
  signal?.addEventListener("abort", end);
  return promise;
}

function screenWidth(io: Pick<CliIo, "stdout" | "stderr" | "env">): number {
  // With `| less`, stderr still knows the terminal.
  const columns = io.stdout.columns ?? Number(io.env.COLUMNS || io.stderr.columns || Number.NaN);
  if (Number.isInteger(columns) && columns > 0) return Math.max(minWidth, columns);
  return io.stdout.isTTY ? defaultWidth : pipeWidth;
}

/** As in Node: FORCE_COLOR, then NO_COLOR, then the kind of stream. */
function wantsColour(io: Pick<CliIo, "env">, stream: { isTTY?: boolean | undefined }): boolean {
  const { FORCE_COLOR: force, NO_COLOR: no, TERM: terminal } = io.env;
  if (force !== undefined) return force !== "0" && force !== "false";
  if (no !== undefined && no !== "") return false;
  return stream.isTTY === true && terminal !== "dumb";
}

/** Far deeper than any message, but safe for the stack. */
const MAX_LEVELS = 500;

// Controls except those that indent JSON, format characters, line separators, lone surrogates, tags.
const invisible = /[^\P{Cc}\t\n\r]|[\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u{e0000}-\u{e0fff}]/gu;

/** Writes JSON in which nothing controls a terminal or is invisible. Replaces values that are nested too deeply. */
export function outputJson(value: unknown, indent = 0): string {
  return jsonWithin(value, { indent, outerLevels: 0 });
}

/** Escapes such characters as `\uXXXX`. Works on parts of a text, too. */
function escapedJson(json: string): string {
  return json.replace(invisible, (character) => {
    const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
  });
}

/** The JSON of an array in pieces, one for each item. */
export function* outputJsonList(items: Iterable<unknown>, indent: number): Generator<string> {
  const line = indent === 0 ? "" : `\n${" ".repeat(indent)}`;
  let before = `[${line}`;
  for (const item of items) {
    const text = jsonWithin(item, { indent, outerLevels: 1 });
    yield `${before}${indent === 0 ? text : text.replaceAll("\n", line)}`;
    before = `,${line}`;
  }
  if (before.startsWith("[")) yield "[]";
  else yield indent === 0 ? "]" : "\n]";
}

function jsonWithin(
  value: unknown,
  { indent, outerLevels }: { indent: number; outerLevels: number },
): string {
  try {
    return escapedJson(JSON.stringify(value, null, indent));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return escapedJson(JSON.stringify(value, depthGuard(outerLevels), indent));
  }
}

function depthGuard(outerLevels: number): (this: object, key: string, value: unknown) => unknown {
  const levels = new WeakMap<object, number>();
  return function guard(this: object, _key, value) {
    if (typeof value !== "object" || value === null) return value;
    const level = (levels.get(this) ?? outerLevels) + 1;
    if (level > MAX_LEVELS) return "[nested too deeply to show]";
    levels.set(value, level);
    return value;
  };
}

/** Shorter work shows nothing. */
const patienceMs = 500;
/** Reading a session blocks timers, so its size decides. */
const bytesReadInPatience = 40_000_000;

/** Time between two changes of a progress bar. */
const barMs = 200;
const barCells = 20;

/**
 * Shows `label` on a terminal's stderr while the work takes longer than half a second. `hide` removes it for good;
 * `advance` adds a bar with the finished share, 0 to 1, and the time left.
 */
export async function withProgress<T>(
  io: CliIo,
  label: string,
  work: (hide: () => void, advance: (share: number) => void) => Promise<T>,
): Promise<T> {
  if (!io.stderr.isTTY)
    return work(
      () => {},
      () => {},
    );
  let shown = false;
  const startMs = Date.now();
  let nextMs = startMs + patienceMs;
  const timer = setTimeout(() => {
    shown = true;
    show(io, label);
  }, patienceMs);
  const advance = (share: number) => {
    const nowMs = Date.now();
    if (nowMs < nextMs || share <= 0) return;
    nextMs = nowMs + barMs;
    clearTimeout(timer);
    clear(io);
    shown = true;
    show(io, `${label} ${progressBar(share)}, ${duration(((nowMs - startMs) * (1 - share)) / share)} left`);
  };
  const hide = () => {
    clearTimeout(timer);
    if (shown) clear(io);
    shown = false;
  };
  try {
    return await work(hide, advance);
  } finally {
    hide();
  }
}

function progressBar(share: number): string {
  const full = Math.round(share * barCells);
  return `${"█".repeat(full)}${"░".repeat(barCells - full)} ${percent(share, 1)}`;
}

/** The same for blocking work on a large file. */
export function withReadingProgress<T>(io: CliIo, file: string, work: () => T): T {
  const sizeBytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (!io.stderr.isTTY || sizeBytes < bytesReadInPatience) return work();
  show(io, `Reading ${bytes(sizeBytes)}`);
  try {
    return work();
  } finally {
    clear(io);
  }
}

function show(io: CliIo, label: string): void {
  io.stderr.write(`\r${renderLine([span(`${label}…`, "gray")], wantsColour(io, io.stderr))}`);
}

function clear(io: CliIo): void {
  io.stderr.write("\r\u001b[K");
}
