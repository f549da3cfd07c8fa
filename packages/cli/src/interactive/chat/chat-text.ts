import { shortened, textHead } from "@bonsai-agent/messages";
import { withoutTerminalControls } from "@bonsai-agent/messages/host";
import { printableLines } from "../../views/terminal-text.ts";
import type { Style } from "../terminal/theme.ts";
import { wrapTextWithAnsi } from "../terminal/tui.ts";

/** Makes a text printable, and wraps and styles it. */
export function textLines(text: string, width: number, style: Style = plain, indent = " "): string[] {
  return wrapped(printableLines(text.trimEnd()), width, style, indent);
}

/** Like `textLines`. Wrapped parts of marked or indented lines get the same indent. */
export function hangingLines(text: string, width: number, style: Style): string[] {
  return printableLines(text.trimEnd()).flatMap((line) => {
    const lead = /^ *(?:[i!✗] )?/.exec(line)?.[0].length ?? 0;
    if (lead === 0 || width - lead < 12) return wrapped([line], width, style);
    return wrapped([line.slice(lead)], width - lead).map(
      (piece, at) => ` ${style(`${at === 0 ? line.slice(0, lead) : " ".repeat(lead)}${piece.slice(1)}`)}`,
    );
  });
}

/** Wraps a text and keeps its colours, but no other control sequences. */
export function colouredLines(text: string, width: number): string[] {
  const pieces = text.trimEnd().split(colour);
  const safe = pieces.map((piece, at) => (at % 2 === 1 ? piece : printableLines(piece).join("\n"))).join("");
  return wrapped(safe.split("\n"), width);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a colour begins with one
const colour = /(\x1b\[[\d;]*m)/;

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

/** A minified file has a line of a megabyte. */
const MAX_LINE_CHARS = 4_000;

export function outputLines(output: string): string[] {
  const text = output.trimEnd();
  return text === "" ? [] : text.split("\n").map((line) => line.replace(/(?<!\r)\r+$/, ""));
}

/** An output line as a terminal shows it in the end. */
export function shownLine(line: string): string {
  const { length } = line;
  const cut = textHead(line, MAX_LINE_CHARS * 2);
  // A return starts the line again, as in a progress bar.
  const last = length === cut.length ? cut.slice(cut.lastIndexOf("\r") + 1) : cut;
  const text = printableLines(withoutTerminalControls(last)).join(" ");
  return shortened(text, MAX_LINE_CHARS);
}
