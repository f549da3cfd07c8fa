import type { Message, ToolCall, ToolResultMessage } from "@bonsai-agent/messages";
import { AnswerView } from "./answer-view.ts";
import type { ChatLooks, Masked } from "./chat-block.ts";
import { CommandBlock } from "./command-block.ts";
import { NoteBlock } from "./entry-blocks.ts";
import { ToolBlock } from "./tool-block.ts";
import { UserBlock } from "./user-block.ts";

type MessageBlock = AnswerView | UserBlock | CommandBlock | NoteBlock;

/** Makes the blocks of messages and finds those of calls. Some providers repeat ids: the latest call counts. */
export class MessageBlocks {
  readonly #looks: ChatLooks;
  readonly #isExpanded: () => boolean;
  /** The block that grows until its message is stored. */
  #begun: MessageBlock | undefined;
  readonly #byCall = new Map<string, ToolBlock>();
  readonly #byEntry = new Map<string, ToolBlock | CommandBlock>();

  constructor(looks: ChatLooks, isExpanded: () => boolean) {
    this.#looks = looks;
    this.#isExpanded = isExpanded;
  }

  clear(): void {
    this.#begun = undefined;
    this.#byCall.clear();
    this.#byEntry.clear();
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
      this.#byEntry.set(entryId, begun);
    } else if (message.role === "custom" && begun instanceof NoteBlock) begun.set(message);
    else if (message.role === "toolResult") return this.#endCall(message, entryId);
    return undefined;
  }

  call(id: string): ToolBlock | undefined {
    return this.#byCall.get(id);
  }

  makeCall(call: Pick<ToolCall, "id" | "name" | "arguments">): ToolBlock {
    const block = new ToolBlock(call, this.#looks);
    block.expand(this.#isExpanded());
    this.#byCall.set(call.id, block);
    return block;
  }

  mask(entryId: string, how: Masked): void {
    this.#byEntry.get(entryId)?.mask(how);
  }

  #endCall(
    { toolCallId, toolName, content, details, isError, durationMs }: ToolResultMessage,
    entryId: string,
  ): ToolBlock | undefined {
    const known = this.#byCall.get(toolCallId);
    const block = known ?? this.makeCall({ id: toolCallId, name: toolName, arguments: {} });
    block.setOutput({ content, details });
    block.setState(isError === true ? "failed" : "done");
    if (typeof durationMs === "number") block.setDuration(durationMs);
    this.#byEntry.set(entryId, block);
    return known === undefined ? block : undefined;
  }

  #blockOf(message: Message): MessageBlock | undefined {
    switch (message.role) {
      case "user":
        return new UserBlock(message, this.#looks);
      case "assistant": {
        const answer = new AnswerView(this.#looks, (call) => this.makeCall(call));
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
