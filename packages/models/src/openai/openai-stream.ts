import { _iterSSEMessages as sseMessages } from "openai/core/streaming";
import type { StreamEvent } from "../model-request.ts";
import { type ProviderCall, ProviderError } from "../provider.ts";
import { garbled, jsonOrText, responseHead, streamError } from "../wire.ts";
import { isApiError, OpenAiWire, refusal, requestError } from "./openai-wire.ts";

/** Reads a protocol's events into an answer. */
interface OpenAiReading {
  /** True after the reason for the end. Only the usage can follow. */
  readonly isFinished: boolean;
  /** True if nothing can follow. */
  readonly isComplete: boolean;
  take(event: unknown): Iterable<StreamEvent>;
  /** Called at the end of the stream. Throws ProviderError for an incomplete answer. */
  end(isDone: boolean): Iterable<StreamEvent>;
}

interface OpenAiStreamOptions extends Omit<OpenAiEventsOptions, "wire"> {
  reading: OpenAiReading;
}

/** Runs one attempt of a request, in either protocol. */
export async function* openAiStream({
  reading,
  ...options
}: OpenAiStreamOptions): AsyncIterable<StreamEvent> {
  const wire = new OpenAiWire(options.call);
  try {
    for await (const event of openAiEvents({ ...options, wire })) {
      yield* eventsRead(() => reading.take(event), event);
      // Read to the end: the connection can be used again then.
      if (reading.isComplete) wire.expectEnd();
    }
  } catch (error) {
    const isCut = error instanceof ProviderError && error.kind === "cut";
    if (!isCut || !reading.isFinished) throw error;
  }
  yield* eventsRead(() => reading.end(wire.isDone), undefined);
}

function* eventsRead(read: () => Iterable<StreamEvent>, event: unknown): Iterable<StreamEvent> {
  try {
    yield* read();
  } catch (error) {
    throw garbled("an event", event, error);
  }
}

interface OpenAiEventsOptions {
  call: ProviderCall;
  wire: OpenAiWire;
  /** Follows the base URL. */
  path: string;
  /** `call.onPayload` may change it. */
  request: object;
}

/** Sends a request and reads the events of its answer. Throws as a `Provider` does. */
async function* openAiEvents(options: OpenAiEventsOptions): AsyncGenerator<unknown, void, undefined> {
  const { call, wire } = options;
  try {
    const response = await opened(options);
    await call.onResponse(responseHead(response.status, response.headers));
    yield* eventsOf(response, options);
  } finally {
    wire.close();
  }
}

async function* eventsOf(
  response: Response,
  { call, wire }: OpenAiEventsOptions,
): AsyncGenerator<unknown, void, undefined> {
  try {
    // The SDK's own list of events fails at an event without data, which some proxies send.
    for await (const { event, data } of sseMessages(response, wire.closer)) {
      call.signal.throwIfAborted();
      const text = data.trim();
      if (text === "[DONE]") wire.markDone();
      if (text === "" || wire.isDone) continue;
      const body: unknown = event === "error" ? jsonOrText(data) : JSON.parse(data);
      if (event === "error" || hasError(body)) throw refusal({ body, headers: response.headers });
      yield body;
    }
  } catch (error) {
    call.signal.throwIfAborted();
    throw streamError(error);
  }
}

function hasError(body: unknown): boolean {
  return Boolean((body as { error?: unknown } | null)?.error);
}

async function opened({ call, wire, path, request }: OpenAiEventsOptions): Promise<Response> {
  const { signal, onResponse } = call;
  signal.throwIfAborted();
  const body = await call.onPayload(request);
  // The typed methods do not fit a changed payload.
  const both = AbortSignal.any([signal, wire.closer.signal]);
  try {
    const client = await wire.client();
    signal.throwIfAborted();
    return await client.post(path, { body, stream: true, signal: both }).asResponse();
  } catch (error) {
    signal.throwIfAborted();
    if (isApiError(error) && error.status !== undefined)
      await onResponse(responseHead(error.status, error.headers));
    throw requestError(error, wire);
  }
}
