import { garbled } from "../connection-error.ts";
import { ProviderError } from "../provider.ts";
import type { StreamEvent } from "../stream-event.ts";
import { type OpenAiEventsOptions, openAiEvents } from "./openai-events.ts";
import { OpenAiWire } from "./openai-wire.ts";

/** What reads a protocol's events into an answer. */
export interface OpenAiReading {
  /** True when the server has said how the answer ended: only counts can still come. */
  readonly isFinished: boolean;
  /** True when nothing can still come. */
  readonly isComplete: boolean;
  take(event: unknown): Iterable<StreamEvent>;
  /** Called at the end of the stream; throws ProviderError where the answer is not complete. */
  end(saidDone: boolean): Iterable<StreamEvent>;
}

export interface OpenAiStreamOptions extends Omit<OpenAiEventsOptions, "wire"> {
  reading: OpenAiReading;
}

/** One attempt of a request, in either protocol. */
export async function* openAiStream({
  reading,
  ...options
}: OpenAiStreamOptions): AsyncIterable<StreamEvent> {
  const wire = new OpenAiWire(options.call);
  try {
    for await (const event of openAiEvents({ ...options, wire })) {
      yield* whatIsThere(() => reading.take(event), event);
      // Read to the end even then, so that the connection can be used again.
      if (reading.isComplete) wire.expectEnd();
    }
  } catch (error) {
    const isCut = error instanceof ProviderError && error.kind === "cut";
    if (!isCut || !reading.isFinished) throw error;
  }
  yield* whatIsThere(() => reading.end(wire.saidDone), undefined);
}

/** Servers send what they like: whatever reading it throws means that the stream is broken. */
function* whatIsThere(read: () => Iterable<StreamEvent>, event: unknown): Iterable<StreamEvent> {
  try {
    yield* read();
  } catch (error) {
    throw garbled("An event of the stream", event, error);
  }
}
