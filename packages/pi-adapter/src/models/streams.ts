import type { AssistantMessage, ToolCall } from "@bonsai-agent/messages";
import { classifyFailure, type ModelFailure, ProviderError, type StreamEvent } from "@bonsai-agent/models";

/** An event of a streamed answer in pi's shape. */
export type PiStreamEvent =
  | { type: "start"; partial: AssistantMessage }
  | {
      type: "text_start" | "thinking_start" | "toolcall_start";
      contentIndex: number;
      partial: AssistantMessage;
    }
  | {
      type: "text_delta" | "thinking_delta" | "toolcall_delta";
      contentIndex: number;
      delta: string;
      partial: AssistantMessage;
    }
  | { type: "text_end" | "thinking_end"; contentIndex: number; content: string; partial: AssistantMessage }
  | { type: "toolcall_end"; contentIndex: number; toolCall: ToolCall; partial: AssistantMessage }
  | { type: "done"; reason: string; message: AssistantMessage }
  | { type: "error"; reason: string; error: AssistantMessage };

/** A streamed answer in pi's shape. Each reader gets all events from the first one on; the last one carries the result. */
export class AssistantMessageEventStream implements AsyncIterable<PiStreamEvent> {
  readonly #events: PiStreamEvent[] = [];
  readonly #result = Promise.withResolvers<AssistantMessage>();
  #isEnded = false;
  #news = Promise.withResolvers<void>();

  constructor() {
    // A reader of the events alone must not get an unhandled rejection.
    this.#result.promise.catch(() => {});
  }

  /** Ignores events after the end. */
  push(event: PiStreamEvent): void {
    if (this.#isEnded) return;
    this.#events.push(event);
    if (event.type === "done") this.end(event.message);
    else if (event.type === "error") this.end(event.error);
    else this.#wake();
  }

  /** Without an answer, the result rejects. */
  end(answer?: AssistantMessage): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (answer === undefined) this.#result.reject(new Error("The stream ended without an answer."));
    else this.#result.resolve(answer);
    this.#wake();
  }

  result(): Promise<AssistantMessage> {
    return this.#result.promise;
  }

  async *[Symbol.asyncIterator](): AsyncIterator<PiStreamEvent> {
    for (let at = 0; ; ) {
      while (at < this.#events.length) yield this.#events[at++]!;
      if (this.#isEnded) return;
      await this.#news.promise;
    }
  }

  #wake(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers<void>();
  }
}

export function createAssistantMessageEventStream(): AssistantMessageEventStream {
  return new AssistantMessageEventStream();
}

type Kind = "text" | "thinking" | "toolcall";

/** Converts the events of streams. pi's events also mark the beginning and the end of each block. */
export class PiEvents {
  #open: { kind: Kind; contentIndex: number } | undefined;

  /** Events for `message_update`. pi has `message_start` and `message_end` for the others. */
  updates(event: StreamEvent): PiStreamEvent[] {
    return this.of(event).filter(({ type }) => type !== "start" && type !== "done" && type !== "error");
  }

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

/** Converts a stream. Reads it to its end, also without a reader. */
export function piStream(source: AsyncIterable<StreamEvent>): AssistantMessageEventStream {
  const stream = new AssistantMessageEventStream();
  const events = new PiEvents();
  void (async () => {
    for await (const event of source) for (const each of events.of(event)) stream.push(each);
    stream.end();
  })();
  return stream;
}

export type PiEventSource = AsyncIterable<PiStreamEvent> | Promise<AsyncIterable<PiStreamEvent>>;

/** Converts the events of pi's providers. Omits events without a counterpart. @throws Error if the source is no stream */
export async function* fromPiEvents(source: PiEventSource): AsyncIterable<StreamEvent> {
  const events = await source;
  if (!events?.[Symbol.asyncIterator])
    throw new Error("The provider's streamSimple did not return a stream of events.");
  for await (const event of events) {
    const ours = ofPiEvent(event);
    if (ours !== undefined) yield ours;
  }
}

function ofPiEvent(event: PiStreamEvent): StreamEvent | undefined {
  switch (event.type) {
    case "start":
      return { type: "start", message: event.partial };
    case "text_delta":
    case "thinking_delta":
    case "toolcall_delta": {
      const { contentIndex, delta, partial: message } = event;
      const type = ({ text_delta: "text", thinking_delta: "thinking", toolcall_delta: "tool_call" } as const)[
        event.type
      ];
      return { type, contentIndex, delta, message };
    }
    case "toolcall_end": {
      const { contentIndex, toolCall, partial: message } = event;
      return { type: "tool_call", contentIndex, delta: "", toolCall, message };
    }
    case "done":
      return { type: "done", message: event.message };
    case "error":
      return { type: "error", message: event.error, ...failureOf(event.error) };
    default:
      return undefined;
  }
}

function failureOf(answer: AssistantMessage): { failure?: ModelFailure } {
  if (answer.stopReason === "aborted") return {};
  const error = new ProviderError({
    kind: "refused",
    message: answer.errorMessage ?? "The provider failed.",
  });
  return { failure: classifyFailure({ error, provider: answer.provider, modelId: answer.model }) };
}
