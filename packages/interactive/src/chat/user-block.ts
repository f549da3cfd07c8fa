import { counted } from "@bonsai-agent/app/numbers";
import { contentText, quotedFiles } from "@bonsai-agent/messages";
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
      ...this.folded(text === "" ? [] : textLines(text, width - 1, style.userMessageText), {
        fold,
        markStyle: style.muted,
        indent: " ",
        draw: (part) => part,
      }),
      ...files.flatMap(({ path, content }) => {
        const file = `${path}: ${counted(content.split("\n").length, "line")} (${this.looks.expandKey()})`;
        return textLines(file, width - 1, style.muted);
      }),
    ];
    const ground = (line: string) => style.userMessageBg(padded(line, width));
    return [...lines.map(ground), ...this.imageLines(width, { style: style.muted, ground })];
  }
}

function padded(line: string, width: number): string {
  const cut = visibleWidth(line) > width ? truncateToWidth(line, width) : line;
  return cut + " ".repeat(Math.max(0, width - visibleWidth(cut)));
}
