import type { AssistantMessage } from "@bonsai-agent/messages";
import type { StreamEvent } from "@bonsai-agent/models";
import { AssistantMessageEventStream, type PiStreamEvent } from "./assistant-stream.ts";

type Kind = "text" | "thinking" | "toolcall";

/** Turns the events of one stream into pi's, which also tell where each block begins and ends. */
export class PiEvents {
  #open: { kind: Kind; contentIndex: number } | undefined;

  of(event: StreamEvent): PiStreamEvent[] {
    const partial = event.message;
    switch (event.type) {
      case "start":
        this.#open = undefined;
        return [{ type: "start", partial }];
      case "text":
      case "thinking":
        return [...this.#begin(event.type, event.contentIndex, partial), deltaOf(event.type, event)];
      case "tool_call":
        return this.#call(event);
      case "done":
        return [...this.#end(partial), { type: "done", reason: partial.stopReason, message: partial }];
      case "error":
        return [...this.#end(partial), { type: "error", reason: partial.stopReason, error: partial }];
    }
  }

  #call(event: StreamEvent & { type: "tool_call" }): PiStreamEvent[] {
    const { contentIndex, toolCall, message: partial, delta } = event;
    const events = this.#begin("toolcall", contentIndex, partial);
    if (delta !== "") events.push(deltaOf("toolcall", event));
    if (toolCall === undefined) return events;
    this.#open = undefined;
    return [...events, { type: "toolcall_end", contentIndex, toolCall, partial }];
  }

  #begin(kind: Kind, contentIndex: number, partial: AssistantMessage): PiStreamEvent[] {
    if (this.#open?.contentIndex === contentIndex && this.#open.kind === kind) return [];
    const ended = this.#end(partial);
    this.#open = { kind, contentIndex };
    return [...ended, { type: `${kind}_start`, contentIndex, partial }];
  }

  #end(partial: AssistantMessage): PiStreamEvent[] {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined || open.kind === "toolcall") return [];
    const { contentIndex, kind } = open;
    const block = partial.content[contentIndex];
    const content = block?.type === "text" ? block.text : block?.type === "thinking" ? block.thinking : "";
    return [{ type: `${kind}_end`, contentIndex, content, partial }];
  }
}

function deltaOf(kind: Kind, event: { contentIndex: number; delta: string; message: AssistantMessage }) {
  const { contentIndex, delta, message: partial } = event;
  return { type: `${kind}_delta` as const, contentIndex, delta, partial };
}

/** A stream of ours in pi's shape; it is read whether anybody listens or not. */
export function piStream(source: AsyncIterable<StreamEvent>): AssistantMessageEventStream {
  const stream = new AssistantMessageEventStream();
  const events = new PiEvents();
  void (async () => {
    for await (const event of source) for (const each of events.of(event)) stream.push(each);
    stream.end();
  })();
  return stream;
}
