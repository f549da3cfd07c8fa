import { type AssistantMessage, callsIn, contentBlocks, type ToolCall } from "@bonsai-agent/messages";
import { counted } from "../../views/numbers.ts";
import { printable } from "../../views/terminal-text.ts";
import { fittedLines } from "../terminal/fitted-lines.ts";
import type { Component } from "../terminal/tui.ts";
import { ChatBlock, type ChatLooks } from "./chat-block.ts";
import { textLines } from "./chat-text.ts";
import { type ChatLine, LineBlock } from "./line-block.ts";
import { MarkdownText } from "./markdown-text.ts";
import { ToolBlock } from "./tool-block.ts";

export class AnswerView implements Component {
  readonly #looks: ChatLooks;
  readonly #makeCall: (call: ToolCall) => ToolBlock;
  /** By the place of their content. */
  #blocks: (PartBlock | ToolBlock)[] = [];
  #end: LineBlock | undefined;
  #hasFailed = false;
  #isExpanded = false;
  #drawn: string[][] = [];
  #lines: string[] = [];

  constructor(looks: ChatLooks, makeCall: (call: ToolCall) => ToolBlock) {
    this.#looks = looks;
    this.#makeCall = makeCall;
  }

  /** Shows the message as it is now. A retry can make it shorter. */
  set(message: AssistantMessage): void {
    const calls = callsIn(message);
    this.#blocks = contentBlocks(message.content).map((part, at) =>
      part.type === "toolCall" ? this.#callAt(at, calls.shift()!) : this.#partAt(at, part),
    );
  }

  /** Shows the complete message, and a line for an unusual end. */
  end(message: AssistantMessage): void {
    this.set(message);
    const end = endLine(message);
    this.#hasFailed = end?.look === "error";
    this.#end = end && new LineBlock(end, this.#looks);
    for (const block of this.#blocks)
      if (block instanceof PartBlock) block.end();
      else if (end !== undefined && !block.isDone) block.setState("failed");
  }

  /** Replaces the line of a failed answer. @returns false if it did not fail */
  explain(line: ChatLine): boolean {
    if (this.#end === undefined || !this.#hasFailed) return false;
    this.#end = new LineBlock(line, this.#looks);
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

  #partAt(at: number, part: Record<string, unknown>): PartBlock {
    const known = this.#blocks[at];
    const block = known instanceof PartBlock ? known : new PartBlock(this.#looks);
    block.expand(this.#isExpanded);
    block.set(part);
    return block;
  }

  #callAt(at: number, call: ToolCall): ToolBlock {
    const known = this.#blocks[at];
    if (!(known instanceof ToolBlock && known.isOf(call))) return this.#makeCall(call);
    known.setArgs(call.arguments);
    return known;
  }
}

type AnswerLooks = Pick<ChatLooks, "theme" | "highlighter" | "thinkingLabel">;

export class PartBlock extends ChatBlock<AnswerLooks> {
  #part: Record<string, unknown> = {};
  /** A streamed part changes in place. */
  #length = 0;
  #isWhole = false;
  readonly #markdown: MarkdownText;

  constructor(looks: AnswerLooks) {
    super(looks);
    this.#markdown = new MarkdownText(looks);
  }

  set(part: Record<string, unknown>): void {
    const length = String(part.text ?? part.thinking ?? "").length;
    if (part === this.#part && length === this.#length) return;
    this.#part = part;
    this.#length = length;
    this.changed();
  }

  end(): void {
    this.#isWhole = true;
    this.changed();
  }

  override invalidate(): void {
    this.#markdown.forget();
    super.invalidate();
  }

  protected lines(width: number): string[] {
    const { type, text } = this.#part;
    if (type === "thinking") return fittedLines(this.#thinking(width), width);
    if (typeof text !== "string" || text.trim() === "") return [];
    return this.#markdown.lines(text, width, this.#isWhole);
  }

  protected override fitted(lines: string[]): string[] {
    return lines;
  }

  #thinking(width: number): string[] {
    const { style } = this.looks.theme;
    const { thinking, redacted } = this.#part;
    if (redacted === true) return [` ${style.thinkingText("Thinking… hidden by the provider")}`];
    if (typeof thinking !== "string" || thinking.trim() === "") return [];
    const lineCount = counted(thinking.trim().split("\n").length, "line");
    const label = this.isExpanded ? undefined : this.looks.thinkingLabel?.();
    const head = ` ${style.thinkingText(label ?? `Thinking… ${lineCount}`)}`;
    return this.isExpanded
      ? [head, ...textLines(thinking.trimStart(), width, style.thinkingText, "   ")]
      : [head];
  }
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
