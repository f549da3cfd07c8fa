import { contentText, type UserMessage } from "@bonsai-agent/messages";
import { quotedFiles, typedCommand } from "@bonsai-agent/messages/host";
import { counted } from "../../views/numbers.ts";
import { keys } from "../terminal/keys.ts";
import { truncateToWidth, visibleWidth } from "../terminal/tui.ts";
import type { ChatLooks } from "./chat-block.ts";
import { textLines } from "./chat-text.ts";
import { ImageBlock } from "./image-block.ts";

/** A pasted log must not push everything else off the screen. */
const fold = { head: 30, tail: 5 };

type UserWords = Pick<UserMessage, "content" | "typed">;

export class UserBlock extends ImageBlock {
  #message: UserWords;

  constructor(message: UserWords, looks: ChatLooks) {
    super(looks);
    this.#message = message;
    this.set(message);
  }

  set(message: UserWords): void {
    this.#message = message;
    this.setImages(message.content);
    this.changed();
  }

  /** The typed text, and one line for each quoted file or expanded template. */
  #parts(): ReturnType<typeof quotedFiles> {
    const content = contentText(this.#message.content);
    const typed = typedCommand(this.#message);
    if (typed === undefined) return this.isExpanded ? { text: content, files: [] } : quotedFiles(content);
    if (this.isExpanded) return { text: `${typed}\n\n${content}`, files: [] };
    const [name = ""] = typed.split(/\s/, 1);
    const { text, files } = quotedFiles(content);
    return { text: typed, files: [{ path: name, content: text }, ...files] };
  }

  protected lines(width: number): string[] {
    const { style } = this.looks.theme;
    const { text, files } = this.#parts();
    const lines = [
      ...this.folded(text === "" ? [] : textLines(text, width - 1, style.userMessageText), {
        fold,
        markStyle: style.muted,
        indent: " ",
        draw: (part) => part,
      }),
      ...files.flatMap(({ path, content }) => {
        const file = `${path}: ${counted(content.split("\n").length, "line")} (${keys.label("expand")})`;
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
