import { contentText } from "@bonsai-agent/messages";
import { counted } from "../../views/numbers.ts";
import { truncateToWidth, visibleWidth } from "../terminal/tui.ts";
import { BlockImages } from "./block-images.ts";
import { ChatBlock } from "./chat-block.ts";
import type { ChatLooks } from "./chat-looks.ts";
import { textLines } from "./chat-text.ts";
import { foldedLines, foldMark } from "./folded-lines.ts";
import { type QuotedFiles, quotedFiles } from "./quoted-files.ts";

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
