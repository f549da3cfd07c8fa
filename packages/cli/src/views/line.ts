import { styleText } from "node:util";
import { printable } from "./printable.ts";
import { textWidth, truncate } from "./text-width.ts";

/** Names of colours and modifiers, as `styleText` takes them. */
export type Style = Parameters<typeof styleText>[0];

/** A piece of a line in one style. Its text may be anything: what is unsafe is made visible when it is printed. */
export interface Span {
  readonly text: string;
  readonly style?: Style | undefined;
}

/** One line of human output. */
export type Line = readonly (string | Span)[];

export function span(text: string, style?: Style): Span {
  return { text, style };
}

export function lineWidth(line: Line): number {
  return line.reduce((sum, part) => sum + textWidth(printable(textOf(part))), 0);
}

/** The line, cut to at most `width` columns. */
export function fitLine(line: Line, width: number): Line {
  if (lineWidth(line) <= width) return line;
  const fitted: Span[] = [];
  let left = width;
  for (const part of line) {
    const text = printable(textOf(part));
    const partWidth = textWidth(text);
    if (partWidth >= left) {
      fitted.push({ text: cut(text, left, partWidth), style: styleOf(part) });
      break;
    }
    fitted.push({ text, style: styleOf(part) });
    left -= partWidth;
  }
  return fitted;
}

/** The line as text, with colours when asked for, without trailing space. */
export function renderLine(line: Line, colour: boolean): string {
  return line
    .map((part) => {
      const text = printable(textOf(part));
      const style = styleOf(part);
      if (!colour || style === undefined || text.trim() === "") return text;
      return styleText(style, text, { validateStream: false });
    })
    .join("")
    .trimEnd();
}

/** A text that fills what is left is cut as well: more of the line follows it. */
function cut(text: string, left: number, width: number): string {
  return truncate(width > left ? text : `${text} `, left);
}

function textOf(part: string | Span): string {
  return typeof part === "string" ? part : part.text;
}

function styleOf(part: string | Span): Style | undefined {
  return typeof part === "string" ? undefined : part.style;
}
