import { counted } from "@bonsai-agent/app/numbers";
import { contentText } from "@bonsai-agent/messages";
import { truncateToWidth, visibleWidth } from "../terminal/tui.ts";
import { ChatBlock, type ChatLooks } from "./chat-block.ts";
import { BlockImages } from "./chat-images.ts";
import { foldedLines, foldMark, textLines } from "./chat-text.ts";

/** A pasted log must not push everything else off the screen. */
const fold = { head: 30, tail: 5 };

/** What the user said, on a ground of its own. */
export class UserBlock extends ChatBlock {
  readonly #looks: ChatLooks;
  readonly #images: BlockImages;
  #content: unknown;

  constructor(content: unknown, looks: ChatLooks) {
    super();
    this.#content = content;
    this.#looks = looks;
    this.#images = new BlockImages(looks.images, this);
    this.#images.set(content);
  }

  set(content: unknown): void {
    this.#content = content;
    this.#images.set(content);
    this.changed();
  }

  protected override get rows(): number {
    return this.#images.rows;
  }

  protected lines(width: number): string[] {
    const { style } = this.#looks.theme;
    const { text, files } = this.#said();
    const all = text === "" ? [] : textLines(text, width - 1, style.user);
    const { head, folded, tail } = this.isExpanded
      ? { head: all, folded: 0, tail: [] }
      : foldedLines(all, fold);
    const lines = [
      ...head,
      ...(folded > 0 ? [` ${style.muted(foldMark(folded, this.#looks.expandKey()))}`] : []),
      ...tail,
      ...files.flatMap(({ path, lineCount }) =>
        textLines(
          `${path}: ${counted(lineCount, "line")} (${this.#looks.expandKey()})`,
          width - 1,
          style.muted,
        ),
      ),
    ];
    const ground = (line: string) => style.userBackground(padded(line, width));
    const images = { width, isExpanded: this.isExpanded, style: style.muted, ground };
    return [...lines.map(ground), ...this.#images.lines(images)];
  }

  /** Folded, the files that went along are told in a line each. */
  #said(): QuotedFiles {
    const text = contentText(this.#content);
    return this.isExpanded ? { text, files: [] } : quotedFiles(text);
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
