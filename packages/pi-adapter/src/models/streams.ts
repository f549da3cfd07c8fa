import type { AssistantMessage, ToolCall } from "@bonsai-agent/messages";
import { classifyFailure, type ModelFailure, ProviderError, type StreamEvent } from "@bonsai-agent/models";

/** Events that somebody pushes and others read, each from the first one on; the last one carries the result. */
export class EventStream<Event, Result = Event> implements AsyncIterable<Event> {
  readonly #events: Event[] = [];
  readonly #isLast: (event: Event) => boolean;
  readonly #resultOf: (event: Event) => Result;
  readonly #result = Promise.withResolvers<Result>();
  #isEnded = false;
  #news = Promise.withResolvers<void>();

  constructor(isLast: (event: Event) => boolean, resultOf: (event: Event) => Result) {
    this.#isLast = isLast;
    this.#resultOf = resultOf;
    // Who only reads the events must not get a failure twice.
    this.#result.promise.catch(() => {});
  }

  /** What comes after the end is dropped. */
  push(event: Event): void {
    if (this.#isEnded) return;
    this.#events.push(event);
    if (this.#isLast(event)) this.end(this.#resultOf(event));
    else this.#wake();
  }

  /** Without a result, the result of a stream that had none rejects. */
  end(result?: Result): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (result === undefined) this.#result.reject(new Error("The stream ended without an answer."));
    else this.#result.resolve(result);
    this.#wake();
  }

  result(): Promise<Result> {
    return this.#result.promise;
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Event> {
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

/** A streamed answer, as pi hands it out and takes it from providers. */
export class AssistantMessageEventStream extends EventStream<PiStreamEvent, AssistantMessage> {
  constructor() {
    super(
      ({ type }) => type === "done" || type === "error",
      (event) => (event.type === "error" ? event.error : (event as { message: AssistantMessage }).message),
    );
  }
}

export function createAssistantMessageEventStream(): AssistantMessageEventStream {
  return new AssistantMessageEventStream();
}

type Kind = "text" | "thinking" | "toolcall";

/** Turns the events of one stream into pi's, which also mark where each block begins and ends. */
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

/** The events of an answer, at once or when there are any. */
export type PiEventSource = AsyncIterable<PiStreamEvent> | Promise<AsyncIterable<PiStreamEvent>>;

/**
 * What a provider that was written for pi streams, as ours; what has no counterpart is left out.
 * @throws Error when the source is no stream
 */
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
    case "thinking_delta": {
      const { contentIndex, delta, partial: message } = event;
      return { type: event.type === "text_delta" ? "text" : "thinking", contentIndex, delta, message };
    }
    case "toolcall_delta":
      return {
        type: "tool_call",
        contentIndex: event.contentIndex,
        delta: event.delta,
        message: event.partial,
      };
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
