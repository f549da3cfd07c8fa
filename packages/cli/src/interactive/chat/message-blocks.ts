import type { Message, ToolCall, ToolResultMessage } from "@bonsai-agent/messages";
import { AnswerView } from "./answer-view.ts";
import type { ChatLooks, Masked } from "./chat-block.ts";
import { CommandBlock } from "./command-block.ts";
import { NoteBlock } from "./entry-blocks.ts";
import { ToolBlock } from "./tool-block.ts";
import { UserBlock } from "./user-block.ts";

type MessageBlock = AnswerView | UserBlock | CommandBlock | NoteBlock;

/** Makes the blocks of messages. Owner of the block that grows until its message is stored. */
export class MessageBlocks {
  readonly #looks: ChatLooks;
  readonly #tools: ToolCalls;
  #begun: MessageBlock | undefined;

  constructor(looks: ChatLooks, tools: ToolCalls) {
    this.#looks = looks;
    this.#tools = tools;
  }

  clear(): void {
    this.#begun = undefined;
  }

  /** @returns the new block; undefined if the message is hidden or belongs to a call */
  begin(message: Message): MessageBlock | undefined {
    this.#begun = this.#blockOf(message);
    return this.#begun;
  }

  /** Shows more of an answer. @returns a block if the answer has none yet */
  grow(message: Message): MessageBlock | undefined {
    const added = this.#begun instanceof AnswerView ? undefined : this.begin(message);
    if (message.role === "assistant" && this.#begun instanceof AnswerView) this.#begun.set(message);
    return added;
  }

  /** @returns a block for a result without a shown call */
  store(message: Message, entryId: string): ToolBlock | undefined {
    const begun = this.#begun;
    this.#begun = undefined;
    if (message.role === "assistant" && begun instanceof AnswerView) begun.end(message);
    else if (message.role === "user" && begun instanceof UserBlock) begun.set(message);
    else if (message.role === "bashExecution" && begun instanceof CommandBlock) {
      begun.set(message);
      this.#tools.hold(entryId, begun);
    } else if (message.role === "custom" && begun instanceof NoteBlock) begun.set(message);
    else if (message.role === "toolResult") return this.#tools.end(message, entryId);
    return undefined;
  }

  #blockOf(message: Message): MessageBlock | undefined {
    switch (message.role) {
      case "user":
        return new UserBlock(message, this.#looks);
      case "assistant": {
        const answer = new AnswerView({ looks: this.#looks, toolBlock: (call) => this.#tools.make(call) });
        answer.set(message);
        return answer;
      }
      case "bashExecution":
        return new CommandBlock(message, this.#looks);
      case "custom":
        return message.display === false ? undefined : new NoteBlock(message, this.#looks);
      default:
        return undefined;
    }
  }
}

/** Finds the block of a call and of a stored output. Some providers repeat ids: the latest call counts. */
export class ToolCalls {
  readonly #looks: ChatLooks;
  readonly #isExpanded: () => boolean;
  readonly #byCall = new Map<string, ToolBlock>();
  readonly #byEntry = new Map<string, ToolBlock | CommandBlock>();

  constructor(looks: ChatLooks, isExpanded: () => boolean) {
    this.#looks = looks;
    this.#isExpanded = isExpanded;
  }

  clear(): void {
    this.#byCall.clear();
    this.#byEntry.clear();
  }

  make(call: Pick<ToolCall, "id" | "name" | "arguments">): ToolBlock {
    const block = new ToolBlock(call, this.#looks);
    block.expand(this.#isExpanded());
    this.#byCall.set(call.id, block);
    return block;
  }

  of(callId: string): ToolBlock | undefined {
    return this.#byCall.get(callId);
  }

  /** Shows a result in the block of its call. @returns a new block if there is none */
  end(
    { toolCallId, toolName, content, details, isError, durationMs }: ToolResultMessage,
    entryId: string,
  ): ToolBlock | undefined {
    const known = this.#byCall.get(toolCallId);
    const block = known ?? this.make({ id: toolCallId, name: toolName, arguments: {} });
    block.setOutput({ content, details });
    block.setState(isError === true ? "failed" : "done");
    if (typeof durationMs === "number") block.setDuration(durationMs);
    this.#byEntry.set(entryId, block);
    return known === undefined ? block : undefined;
  }

  hold(entryId: string, block: CommandBlock): void {
    this.#byEntry.set(entryId, block);
  }

  mask(entryId: string, how: Masked): void {
    this.#byEntry.get(entryId)?.mask(how);
  }
}
