import { counted } from "@bonsai-agent/app/numbers";
import { contentText } from "@bonsai-agent/messages";
import { truncateToWidth, visibleWidth } from "../terminal/tui.ts";
import type { ChatLooks } from "./chat-block.ts";
import { textLines } from "./chat-text.ts";
import { ImageBlock } from "./image-block.ts";

/** A pasted log must not push everything else off the screen. */
const fold = { head: 30, tail: 5 };

/** A message of the user's, on a ground of its own. */
export class UserBlock extends ImageBlock {
  #content: unknown;

  constructor(content: unknown, looks: ChatLooks) {
    super(looks);
    this.set(content);
  }

  set(content: unknown): void {
    this.#content = content;
    this.setImages(content);
    this.changed();
  }

  protected lines(width: number): string[] {
    const { style } = this.looks.theme;
    const content = contentText(this.#content);
    // Folded, the files that were sent along are a line each.
    const { text, files } = this.isExpanded ? { text: content, files: [] } : quotedFiles(content);
    const lines = [
      ...this.folded(text === "" ? [] : textLines(text, width - 1, style.user), {
        fold,
        markStyle: style.muted,
        indent: " ",
        draw: (part) => part,
      }),
      ...files.flatMap(({ path, lineCount }) => {
        const file = `${path}: ${counted(lineCount, "line")} (${this.looks.expandKey()})`;
        return textLines(file, width - 1, style.muted);
      }),
    ];
    const ground = (line: string) => style.userBackground(padded(line, width));
    return [...lines.map(ground), ...this.imageLines(width, { style: style.muted, ground })];
  }
}

function padded(line: string, width: number): string {
  const cut = visibleWidth(line) > width ? truncateToWidth(line, width) : line;
  return cut + " ".repeat(Math.max(0, width - visibleWidth(cut)));
}

/** A message, and the files that it names and that were sent with it. */
interface QuotedFiles {
  /** What was typed. */
  text: string;
  files: { path: string; lineCount: number }[];
}

const opening = /\n\n<file path=("(?:[^"\\]|\\.)*")>\n/g;
const closing = "\n</file>";

/** Tells what was typed from the files behind it; what only looks like one stays in the text. */
export function quotedFiles(sent: string): QuotedFiles {
  if (!sent.endsWith(closing)) return { text: sent, files: [] };
  for (const { index } of sent.matchAll(opening)) {
    const text = sent.slice(0, index);
    const files = filesIn(sent.slice(index)).filter(
      ({ path }) => text.includes(`@${path}`) || text.includes(`@"${path}"`),
    );
    if (files.length > 0) return { text, files };
  }
  return { text: sent, files: [] };
}

function filesIn(text: string): QuotedFiles["files"] {
  const found = [...text.matchAll(opening)];
  return found.map(({ 0: begun, 1: path = '""', index }, at) => {
    const end = found[at + 1]?.index ?? text.length;
    const quoted = text.slice(index + begun.length, end - closing.length);
    return { path: pathOf(path), lineCount: quoted.split("\n").length };
  });
}

function pathOf(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    // Nobody has sent this as the name of a file: it is found in no text.
    return quoted;
  }
}
