import { contentText } from "@bonsai-agent/messages";
import { type PinChange, pinChangeIn } from "@bonsai-agent/session";
import { oneLine } from "../../views/printable.ts";
import { BlockImages } from "./block-images.ts";
import { ChatBlock } from "./chat-block.ts";
import type { ChatLooks } from "./chat-looks.ts";
import { textLines, wrapped } from "./chat-text.ts";
import { foldMark } from "./folded-lines.ts";
import { MarkdownText } from "./markdown-text.ts";

/** What an extension put into the context and wants to be seen. */
export interface Note {
  customType: unknown;
  content: unknown;
  details?: unknown;
}

const foldedHead = 12;

export class NoteBlock extends ChatBlock {
  readonly #looks: ChatLooks;
  readonly #images: BlockImages;
  #note: Note;

  constructor(note: Note, looks: ChatLooks) {
    super();
    this.#note = note;
    this.#looks = looks;
    this.#images = new BlockImages(looks.images, this);
    this.#images.set(note.content);
  }

  set(note: Note): void {
    this.#note = note;
    this.#images.set(note.content);
    this.changed();
  }

  protected override get rows(): number {
    return this.#images.rows;
  }

  protected lines(width: number): string[] {
    const pin = pinChangeIn(this.#note);
    if (pin !== undefined) return this.#folded(this.#pinLines(pin, width));
    const drawn = this.#looks.drawings?.message(this.#note, this.isExpanded, width);
    if (drawn !== undefined) return drawn;
    const { style } = this.#looks.theme;
    const { customType, content } = this.#note;
    const title = `[${typeof customType === "string" ? oneLine(customType, 60) : "extension"}]`;
    const body = new MarkdownText(this.#looks).lines(contentText(content), width);
    return [
      ...wrapped([title], width, style.accent),
      ...this.#folded(body),
      ...this.#images.lines({ width, isExpanded: this.isExpanded, style: style.muted }),
    ];
  }

  #pinLines({ text, isPinned }: PinChange, width: number): string[] {
    const { accent, muted } = this.#looks.theme.style;
    return textLines(`${isPinned ? "Pinned" : "Unpinned"}: ${text}`, width, isPinned ? accent : muted);
  }

  #folded(body: string[]): string[] {
    const folded = this.isExpanded ? 0 : body.length - foldedHead;
    if (folded <= 1) return body;
    const { dim } = this.#looks.theme.style;
    return [...body.slice(0, foldedHead), ` ${dim(foldMark(folded, this.#looks.expandKey()))}`];
  }
}
