import {
  contentText,
  type Message,
  type ToolCall,
  type ToolResultMessage,
  type UserMessage,
} from "@bonsai-agent/messages";
import { quotedFiles, typedCommand } from "@bonsai-agent/messages/host";
import { counted } from "../../views/numbers.ts";
import { keys } from "../terminal/keys.ts";
import { truncateToWidth, visibleWidth } from "../terminal/tui.ts";
import { AnswerView } from "./answer-view.ts";
import type { ChatLooks, Masked } from "./chat-block.ts";
import { textLines } from "./chat-text.ts";
import { CommandBlock } from "./command-block.ts";
import { NoteBlock } from "./entry-blocks.ts";
import { ImageBlock } from "./image-block.ts";
import { ToolBlock } from "./tool-block.ts";

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

/** A pasted log must not push everything else off the screen. */
const fold = { head: 30, tail: 5 };

type UserWords = Pick<UserMessage, "content" | "typed">;

class UserBlock extends ImageBlock {
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
