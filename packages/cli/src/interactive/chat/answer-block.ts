import { contentBlocks } from "@bonsai-agent/messages";
import { ChatBlock, fittedLines } from "./chat-block.ts";
import type { ChatLooks } from "./chat-looks.ts";
import { textLines } from "./chat-text.ts";
import { lineCount } from "./folded-lines.ts";
import { MarkdownText } from "./markdown-text.ts";

type AnswerLooks = Pick<ChatLooks, "theme" | "highlighter">;

/** What the model said and thought between two calls of tools. */
export class AnswerBlock extends ChatBlock {
  readonly #looks: AnswerLooks;
  #content: readonly unknown[] = [];
  /** Of the content, for what is being streamed changes in place. */
  #key = "";
  #isWhole = false;
  /** By its place in the content. */
  readonly #texts = new Map<number, MarkdownText>();

  constructor(content: readonly unknown[], looks: AnswerLooks) {
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
    this.changed();
  }

  /** No more comes. */
  end(): void {
    this.#isWhole = true;
    this.changed();
  }

  override invalidate(): void {
    for (const text of this.#texts.values()) text.forget();
    super.invalidate();
  }

  protected lines(width: number): string[] {
    const lines: string[] = [];
    for (const [at, part] of contentBlocks(this.#content).entries()) {
      const shown = part.type === "thinking" ? this.#thinking(part, width) : this.#text(at, part, width);
      if (shown.length > 0 && lines.length > 0) lines.push("");
      // Not as arguments: of a hundred thousand there is no stack for more.
      for (const line of shown) lines.push(line);
    }
    return lines;
  }

  protected override fitted(lines: string[]): string[] {
    return lines;
  }

  #text(at: number, { text }: Record<string, unknown>, width: number): string[] {
    if (typeof text !== "string" || text.trim() === "") return [];
    const drawn = this.#texts.get(at) ?? new MarkdownText(this.#looks);
    this.#texts.set(at, drawn);
    return drawn.lines(text, width, this.#isWhole);
  }

  #thinking({ thinking, redacted }: Record<string, unknown>, width: number): string[] {
    const { style } = this.#looks.theme;
    if (redacted === true)
      return fittedLines([` ${style.thinking("Thinking… withheld by the provider")}`], width);
    if (typeof thinking !== "string" || thinking.trim() === "") return [];
    const head = ` ${style.thinking(`Thinking… ${lineCount(thinking.trim())}`)}`;
    const body = this.isExpanded ? textLines(thinking.trimStart(), width, style.thinking, "   ") : [];
    return fittedLines([head, ...body], width);
  }
}

function length(text: unknown): number {
  return typeof text === "string" ? text.length : 0;
}
