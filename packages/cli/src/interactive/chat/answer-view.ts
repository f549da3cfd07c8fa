import { type AssistantMessage, contentBlocks, type ToolCall, toolCalls } from "@bonsai-agent/messages";
import type { Component } from "../terminal/tui.ts";
import { AnswerBlock } from "./answer-block.ts";
import { answerEnd } from "./answer-end.ts";
import type { ChatBlock } from "./chat-block.ts";
import type { ChatLooks } from "./chat-looks.ts";
import { LineBlock } from "./line-block.ts";
import type { ToolBlock } from "./tool-block.ts";

export interface AnswerViewOptions {
  looks: ChatLooks;
  /** Makes the block of a call, and knows it from then on. */
  toolBlock: (call: ToolCall) => ToolBlock;
}

/** One answer, in the order in which the model gave it: texts and thoughts, and the calls between them. */
export class AnswerView implements Component {
  readonly #options: AnswerViewOptions;
  #said: AnswerBlock[] = [];
  #calls: { id: string; name: string; block: ToolBlock }[] = [];
  #end: LineBlock | undefined;
  /** And nobody has said more of it. */
  #hasFailed = false;
  #blocks: ChatBlock[] = [];
  #isExpanded = false;
  #drawn: string[][] = [];
  #lines: string[] = [];

  constructor(options: AnswerViewOptions) {
    this.#options = options;
  }

  /** What there is now takes the place of what was: after a retry that can be less. */
  set(message: AssistantMessage): void {
    const blocks: ChatBlock[] = [];
    let said: unknown[] = [];
    let saidCount = 0;
    let callCount = 0;
    const flush = () => {
      if (said.length > 0) blocks.push(this.#saidAt(saidCount++, said));
      said = [];
    };
    const calls = toolCalls(message);
    for (const part of contentBlocks(message.content)) {
      if (part.type !== "toolCall") said.push(part);
      else {
        flush();
        blocks.push(this.#callAt(callCount, calls[callCount]!));
        callCount += 1;
      }
    }
    flush();
    this.#said.length = saidCount;
    this.#calls.length = callCount;
    this.#blocks = blocks;
  }

  /** The message is whole: how it ended is told where that is worth a line. */
  end(message: AssistantMessage): void {
    this.set(message);
    for (const block of this.#said) block.end();
    const end = answerEnd(message);
    this.#hasFailed = end?.level === "error";
    this.#end = end && new LineBlock({ text: end.text, look: end.level }, this.#options.looks.theme);
    if (end !== undefined) for (const { block } of this.#calls) if (!block.isDone) block.setState("failed");
  }

  /** Says why it failed and what to do, in the place of its own line. @returns false where it did not fail */
  explain(text: string): boolean {
    if (this.#end === undefined || !this.#hasFailed) return false;
    this.#end = new LineBlock({ text, look: "error" }, this.#options.looks.theme);
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

  #saidAt(at: number, content: readonly unknown[]): AnswerBlock {
    const block = this.#said[at];
    if (block === undefined) return this.#new(at, content);
    block.set(content);
    return block;
  }

  #new(at: number, content: readonly unknown[]): AnswerBlock {
    const block = new AnswerBlock(content, this.#options.looks);
    block.expand(this.#isExpanded);
    this.#said[at] = block;
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
