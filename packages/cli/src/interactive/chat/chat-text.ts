import { printableLines } from "../../views/printable.ts";
import { wrapTextWithAnsi } from "../terminal/tui.ts";
import type { Style } from "../theme/theme.ts";

// Whatever models, tools and files say is made printable here, before it gets its look.

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
  const room = Math.max(1, width - indent.length);
  return lines.flatMap((line) => wrapTextWithAnsi(line, room)).map((line) => `${indent}${style(line)}`);
}

function plain(text: string): string {
  return text;
}
