import { printableLines } from "../../views/printable.ts";
import { truncateToWidth, visibleWidth } from "../terminal/tui.ts";

// What a component may say beside texts: looks, links, and where the cursor stands. It can have got anything else from a
// file or a model, and would hand it to the terminal.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const allowed = /(\x1b\[[\d;:]*m|\x1b\]8;[^\x00-\x1f]*(?:\x07|\x1b\\)|\x1b_pi:c\x07)/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: a text without them needs no care
const control = /[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

// biome-ignore lint/suspicious/noControlCharactersInRegex: what an image begins with
const image = /\x1b(?:_G|\]1337;File=)/;

/** What a component of an extension drew, as lines that fit and can do no harm. */
export function drawnLines(lines: readonly string[], width: number): string[] {
  return lines.flatMap(safeLines).map((line) => {
    // Colours that were not closed would go on into the next line.
    const cut = visibleWidth(line) > width ? truncateToWidth(line, width, "") : line;
    return line.includes("\u001b[") ? `${cut}\u001b[0m` : cut;
  });
}

function safeLines(line: string): string[] {
  if (!control.test(line)) return [line];
  if (image.test(line)) return ["[image]"];
  const pieces = line.split(allowed);
  const safe = pieces.map((piece, at) => (at % 2 === 1 ? piece : printableLines(piece).join("\n")));
  return safe.join("").split("\n");
}
