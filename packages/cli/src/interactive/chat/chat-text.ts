import { shortened, textHead } from "@bonsai-agent/messages";
import { withoutTerminalControls } from "@bonsai-agent/messages/host";
import { counted } from "../../views/numbers.ts";
import { printableLines } from "../../views/terminal-text.ts";
import type { Style } from "../terminal/theme.ts";
import { wrapTextWithAnsi } from "../terminal/tui.ts";

// Whatever comes from models, tools and files is made printable here, before it gets its look.

/** A text in lines of at most `width` columns, each with the look. @param indent stands before every line */
export function textLines(text: string, width: number, style: Style = plain, indent = " "): string[] {
  return wrapped(printableLines(text.trimEnd()), width, style, indent);
}

/** The same for a text of marked or indented lines: what is wrapped goes on below its beginning. */
export function hangingLines(text: string, width: number, style: Style): string[] {
  return printableLines(text.trimEnd()).flatMap((line) => {
    const lead = /^ *(?:[i!✗] )?/.exec(line)?.[0].length ?? 0;
    if (lead === 0 || width - lead < 12) return wrapped([line], width, style);
    return wrapped([line.slice(lead)], width - lead).map(
      (piece, at) => ` ${style(`${at === 0 ? line.slice(0, lead) : " ".repeat(lead)}${piece.slice(1)}`)}`,
    );
  });
}

/** A text that was given its colours already: nothing else of it can steer the terminal. */
export function colouredLines(text: string, width: number): string[] {
  const pieces = text.trimEnd().split(colour);
  const safe = pieces.map((piece, at) => (at % 2 === 1 ? piece : printableLines(piece).join("\n"))).join("");
  return wrapped(safe.split("\n"), width);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: what a colour begins with
const colour = /(\x1b\[[\d;]*m)/;

/** Lines that are printable already. */
export function wrapped(
  lines: readonly string[],
  width: number,
  style: Style = plain,
  indent = " ",
): string[] {
  const columns = Math.max(1, width - indent.length);
  return lines.flatMap((line) => wrapTextWithAnsi(line, columns)).map((line) => `${indent}${style(line)}`);
}

function plain(text: string): string {
  return text;
}

export interface FoldOptions {
  /** Lines that are shown of the beginning. */
  head: number;
  /** Lines that are shown of the end. */
  tail: number;
}

/** What is shown of many lines: the first, how many are folded away, the last. One line is never folded alone. */
interface FoldedLines<Each> {
  head: Each[];
  folded: number;
  tail: Each[];
}

export function foldedLines<Each>(lines: readonly Each[], { head, tail }: FoldOptions): FoldedLines<Each> {
  const folded = lines.length - head - tail;
  if (folded <= 1) return { head: [...lines], folded: 0, tail: [] };
  return { head: lines.slice(0, head), folded, tail: tail === 0 ? [] : lines.slice(-tail) };
}

/** `… 1,204 more lines (Ctrl-O)`. @param key shows them */
export function foldMark(folded: number, key: string): string {
  return `… ${counted(folded, "more line")} (${key})`;
}

/** `3 lines`. */
export function lineCount(text: string): string {
  return counted(text.trimEnd().split("\n").length, "line");
}

/** Beyond it, a line is data: a minified file has a megabyte of it. */
const MAX_LINE_CHARS = 4_000;

/** The lines of what a command put out, as they came. */
export function outputLines(output: string): string[] {
  const text = output.trimEnd();
  return text === "" ? [] : text.split("\n").map((line) => line.replace(/(?<!\r)\r+$/, ""));
}

/** How such a line stands on a terminal in the end, without what would steer it. */
export function shownLine(line: string): string {
  const { length } = line;
  const cut = textHead(line, MAX_LINE_CHARS * 2);
  // Each return began the line anew: of a progress bar, its last state is seen.
  const last = length === cut.length ? cut.slice(cut.lastIndexOf("\r") + 1) : cut;
  const text = printableLines(withoutTerminalControls(last)).join(" ");
  return shortened(text, MAX_LINE_CHARS);
}
