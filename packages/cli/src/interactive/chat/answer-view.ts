import { type AssistantMessage, callsIn, contentBlocks, type ToolCall } from "@bonsai-agent/messages";
import { counted } from "../../views/numbers.ts";
import { printable } from "../../views/terminal-text.ts";
import { fittedLines } from "../terminal/fitted-lines.ts";
import type { Component } from "../terminal/tui.ts";
import { ChatBlock, type ChatLooks } from "./chat-block.ts";
import { textLines } from "./chat-text.ts";
import { type ChatLine, LineBlock } from "./line-block.ts";
import { MarkdownText } from "./markdown-text.ts";
import type { ToolBlock } from "./tool-block.ts";

interface AnswerViewOptions {
  looks: ChatLooks;
  toolBlock: (call: ToolCall) => ToolBlock;
}

/** One answer: texts and thinking, with the tool calls between them. */
export class AnswerView implements Component {
  readonly #options: AnswerViewOptions;
  #parts: AnswerBlock[] = [];
  #calls: { id: string; name: string; block: ToolBlock }[] = [];
  #end: LineBlock | undefined;
  #hasFailed = false;
  #blocks: (AnswerBlock | ToolBlock)[] = [];
  #isExpanded = false;
  #drawn: string[][] = [];
  #lines: string[] = [];

  constructor(options: AnswerViewOptions) {
    this.#options = options;
  }

  /** Shows the message as it is now. A retry can make it shorter. */
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

  /** Shows the complete message, and a line for an unusual end. */
  end(message: AssistantMessage): void {
    this.set(message);
    for (const block of this.#parts) block.end();
    const end = endLine(message);
    this.#hasFailed = end?.look === "error";
    this.#end = end && new LineBlock(end, this.#options.looks);
    if (end !== undefined) for (const { block } of this.#calls) if (!block.isDone) block.setState("failed");
  }

  /** Replaces the line of a failed answer. @returns false if it did not fail */
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

/** The texts and thinking between two tool calls. */
export class AnswerBlock extends ChatBlock<AnswerLooks> {
  #content: readonly unknown[] = [];
  /** Lengths of the content: a streamed message changes in place. */
  #key = "";
  #isWhole = false;
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
      // A hundred thousand arguments exceed the stack.
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
    const lineCount = counted(thinking.trim().split("\n").length, "line");
    const head = ` ${style.thinkingText(label ?? `Thinking… ${lineCount}`)}`;
    const body = this.isExpanded ? textLines(thinking.trimStart(), width, style.thinkingText, "   ") : [];
    return fittedLines([head, ...body], width);
  }
}

function length(text: unknown): number {
  return typeof text === "string" ? text.length : 0;
}

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
