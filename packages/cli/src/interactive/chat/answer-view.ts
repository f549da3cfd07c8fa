import { type AssistantMessage, callsIn, contentBlocks, type ToolCall } from "@bonsai-agent/messages";
import { printable } from "../../views/terminal-text.ts";
import { fittedLines } from "../terminal/fitted-lines.ts";
import type { Component } from "../terminal/tui.ts";
import { ChatBlock, type ChatLooks } from "./chat-block.ts";
import { lineCount, textLines } from "./chat-text.ts";
import { type ChatLine, LineBlock } from "./line-block.ts";
import { MarkdownText } from "./markdown-text.ts";
import type { ToolBlock } from "./tool-block.ts";

interface AnswerViewOptions {
  looks: ChatLooks;
  /** Makes the block of a call, and knows it from then on. */
  toolBlock: (call: ToolCall) => ToolBlock;
}

/** One answer, in the order in which the model gave it: texts and thoughts, and the calls between them. */
export class AnswerView implements Component {
  readonly #options: AnswerViewOptions;
  #parts: AnswerBlock[] = [];
  #calls: { id: string; name: string; block: ToolBlock }[] = [];
  #end: LineBlock | undefined;
  /** And nothing more is known of it. */
  #hasFailed = false;
  #blocks: (AnswerBlock | ToolBlock)[] = [];
  #isExpanded = false;
  #drawn: string[][] = [];
  #lines: string[] = [];

  constructor(options: AnswerViewOptions) {
    this.#options = options;
  }

  /** What there is now takes the place of what was: after a retry that can be less. */
  set(message: AssistantMessage): void {
    const blocks: (AnswerBlock | ToolBlock)[] = [];
    const calls = callsIn(message);
    let parts: unknown[] = [];
    let partCount = 0;
    let callCount = 0;
    const endPart = () => {
      if (parts.length > 0) blocks.push(this.#partAt(partCount++, parts));
      parts = [];
    };
    for (const part of contentBlocks(message.content)) {
      if (part.type !== "toolCall") {
        parts.push(part);
        continue;
      }
      endPart();
      blocks.push(this.#callAt(callCount, calls[callCount]!));
      callCount += 1;
    }
    endPart();
    this.#parts.length = partCount;
    this.#calls.length = callCount;
    this.#blocks = blocks;
  }

  /** The message is whole: how it ended is shown where that is worth a line. */
  end(message: AssistantMessage): void {
    this.set(message);
    for (const block of this.#parts) block.end();
    const end = endLine(message);
    this.#hasFailed = end?.look === "error";
    this.#end = end && new LineBlock(end, this.#options.looks);
    if (end !== undefined) for (const { block } of this.#calls) if (!block.isDone) block.setState("failed");
  }

  /** Shows why it failed and what to do, in the place of its own line. @returns false where it did not fail */
  explain(line: ChatLine): boolean {
    if (this.#end === undefined || !this.#hasFailed) return false;
    this.#end = new LineBlock(line, this.#options.looks);
    this.#hasFailed = false;
    return true;
  }

  expand(isExpanded: boolean): void {
    this.#isExpanded = isExpanded;
    for (const block of this.#blocks) block.expand(isExpanded);
  }

  render(width: number): string[] {
    const blocks = this.#end === undefined ? this.#blocks : [...this.#blocks, this.#end];
    const drawn = blocks.map((block) => block.render(width));
    const isSame = drawn.length === this.#drawn.length && drawn.every((each, at) => each === this.#drawn[at]);
    if (!isSame) {
      this.#drawn = drawn;
      this.#lines = drawn.flat();
    }
    return this.#lines;
  }

  invalidate(): void {
    for (const block of this.#blocks) block.invalidate();
    this.#end?.invalidate();
  }

  #partAt(at: number, content: readonly unknown[]): AnswerBlock {
    const block = this.#parts[at] ?? new AnswerBlock(content, this.#options.looks);
    block.expand(this.#isExpanded);
    block.set(content);
    this.#parts[at] = block;
    return block;
  }

  #callAt(at: number, call: ToolCall): ToolBlock {
    const known = this.#calls[at];
    if (known !== undefined && known.id === call.id && known.name === call.name) {
      known.block.setArgs(call.arguments);
      return known.block;
    }
    const block = this.#options.toolBlock(call);
    this.#calls.length = at;
    this.#calls.push({ id: call.id, name: call.name, block });
    return block;
  }
}

type AnswerLooks = Pick<ChatLooks, "theme" | "highlighter" | "thinkingLabel">;

/** What the model wrote and thought between two calls of tools. */
export class AnswerBlock extends ChatBlock<AnswerLooks> {
  #content: readonly unknown[] = [];
  /** Of the content, for what is being streamed changes in place. */
  #key = "";
  #isWhole = false;
  /** By its place in the content. */
  readonly #texts = new Map<number, MarkdownText>();

  constructor(content: readonly unknown[], looks: AnswerLooks) {
    super(looks);
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
    const drawn = this.#texts.get(at) ?? new MarkdownText(this.looks);
    this.#texts.set(at, drawn);
    return drawn.lines(text, width, this.#isWhole);
  }

  #thinking({ thinking, redacted }: Record<string, unknown>, width: number): string[] {
    const { style } = this.looks.theme;
    if (redacted === true)
      return fittedLines([` ${style.thinkingText("Thinking… hidden by the provider")}`], width);
    if (typeof thinking !== "string" || thinking.trim() === "") return [];
    const label = this.isExpanded ? undefined : this.looks.thinkingLabel?.();
    const head = ` ${style.thinkingText(label ?? `Thinking… ${lineCount(thinking.trim())}`)}`;
    const body = this.isExpanded ? textLines(thinking.trimStart(), width, style.thinkingText, "   ") : [];
    return fittedLines([head, ...body], width);
  }
}

function length(text: unknown): number {
  return typeof text === "string" ? text.length : 0;
}

/** How an answer ended, where that is worth a line. */
function endLine({ stopReason, errorMessage }: AssistantMessage): ChatLine | undefined {
  switch (stopReason) {
    case "aborted":
      return { look: "warning", text: "The answer stopped early." };
    case "length":
      return { look: "warning", text: "Cut off at the model's output limit." };
    case "error":
      return { look: "error", text: `Failed: ${reasonText(errorMessage)}` };
    default:
      return undefined;
  }
}

function reasonText(message: unknown): string {
  return typeof message === "string" && message.trim() !== "" ? printable(message.trim()) : "no reason given";
}
