import { type OpenAiEventsOptions, openAiEvents } from "./openai-events.ts";
import { OpenAiWire } from "./openai-wire.ts";
import { ProviderError } from "./provider.ts";
import type { StreamEvent } from "./stream-event.ts";

/** What reads a protocol's events into an answer. */
export interface OpenAiReading {
  /** True when the server has said how the answer ended: only counts can still come. */
  readonly isFinished: boolean;
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
    // Read to the end even after the last word, so that the connection can be used again.
    for await (const event of openAiEvents({ ...options, wire })) yield* reading.take(event);
  } catch (error) {
    const isCut = error instanceof ProviderError && error.kind === "cut";
    if (!isCut || !reading.isFinished) throw error;
  }
  yield* reading.end(wire.saidDone);
}
