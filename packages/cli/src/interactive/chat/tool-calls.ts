import type { ToolCall, ToolResultMessage } from "@bonsai-agent/messages";
import type { ChatLooks } from "./chat-looks.ts";
import { ToolBlock } from "./tool-block.ts";

/** Knows which block belongs to which call and which stored result. Some providers give the same ids again: the latest counts. */
export class ToolCalls {
  readonly #looks: ChatLooks;
  readonly #isExpanded: () => boolean;
  readonly #byCall = new Map<string, ToolBlock>();
  readonly #byEntry = new Map<string, ToolBlock>();

  constructor(looks: ChatLooks, isExpanded: () => boolean) {
    this.#looks = looks;
    this.#isExpanded = isExpanded;
  }

  clear(): void {
    this.#byCall.clear();
    this.#byEntry.clear();
  }

  make({ id, name, arguments: args }: Pick<ToolCall, "id" | "name" | "arguments">): ToolBlock {
    const block = new ToolBlock(name, args, this.#looks, id);
    block.expand(this.#isExpanded());
    this.#byCall.set(id, block);
    return block;
  }

  of(callId: string): ToolBlock | undefined {
    return this.#byCall.get(callId);
  }

  /** Shows a result with its call. @returns a block of its own, where the call is not shown */
  end(
    { toolCallId, toolName, content, details, isError }: ToolResultMessage,
    entryId?: string,
  ): ToolBlock | undefined {
    const known = this.#byCall.get(toolCallId);
    const block = known ?? this.make({ id: toolCallId, name: toolName, arguments: {} });
    block.setOutput({ content, details });
    block.setState(isError === true ? "failed" : "done");
    if (entryId !== undefined) this.#byEntry.set(entryId, block);
    return known === undefined ? block : undefined;
  }

  /** The result of an entry is no longer in the model's view, or only in part. */
  mask(entryId: string, how: "whole" | "part" = "whole"): void {
    this.#byEntry.get(entryId)?.mask(how);
  }
}
