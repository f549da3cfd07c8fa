import { contentBlocks } from "@bonsai-agent/messages";
import { ChatBlock } from "./chat-block.ts";
import type { ChatLooks } from "./chat-looks.ts";
import { markdownLines, textLines } from "./chat-text.ts";
import { lineCount } from "./folded-lines.ts";

/** What the model said and thought between two calls of tools. */
export class AnswerBlock extends ChatBlock {
  readonly #looks: ChatLooks;
  #content: readonly unknown[] = [];
  /** Of the content, for what is being streamed changes in place. */
  #key = "";

  constructor(content: readonly unknown[], looks: ChatLooks) {
    super();
    this.#looks = looks;
    this.set(content);
  }

  set(content: readonly unknown[]): void {
    const key = contentBlocks(content)
      .map(({ type, text, thinking }) => `${type} ${length(text)} ${length(thinking)}`)
      .join();
    if (key === this.#key && this.#content.every((part, at) => part === content[at])) return;
    this.#key = key;
    this.#content = content;
    this.invalidate();
  }

  protected lines(width: number): string[] {
    const lines: string[] = [];
    for (const part of contentBlocks(this.#content)) {
      const shown = part.type === "thinking" ? this.#thinking(part, width) : this.#text(part, width);
      if (shown.length > 0 && lines.length > 0) lines.push("");
      lines.push(...shown);
    }
    return lines;
  }

  #text({ text }: Record<string, unknown>, width: number): string[] {
    return typeof text === "string" && text.trim() !== "" ? markdownLines(text, width, this.#looks) : [];
  }

  #thinking({ thinking, redacted }: Record<string, unknown>, width: number): string[] {
    const { style } = this.#looks.theme;
    if (redacted === true) return [` ${style.thinking("Thinking… withheld by the provider")}`];
    if (typeof thinking !== "string" || thinking.trim() === "") return [];
    const head = ` ${style.thinking(`Thinking… ${lineCount(thinking)}`)}`;
    return this.isExpanded
      ? [head, ...textLines(thinking.trimStart(), width, style.thinking, "   ")]
      : [head];
  }
}

function length(text: unknown): number {
  return typeof text === "string" ? text.length : 0;
}
