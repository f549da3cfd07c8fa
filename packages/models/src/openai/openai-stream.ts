import { _iterSSEMessages as sseMessages } from "openai/core/streaming";
import type { StreamEvent } from "../model-request.ts";
import { type ProviderCall, ProviderError } from "../provider.ts";
import { garbled, jsonOrText, responseHead } from "../wire.ts";
import { isApiError, OpenAiWire, refusal, requestError, streamError } from "./openai-wire.ts";

/** What reads a protocol's events into an answer. */
interface OpenAiReading {
  /** True when the server has said how the answer ended: only counts can still come. */
  readonly isFinished: boolean;
  /** True when nothing can still come. */
  readonly isComplete: boolean;
  take(event: unknown): Iterable<StreamEvent>;
  /** Called at the end of the stream; throws ProviderError where the answer is not complete. */
  end(isDone: boolean): Iterable<StreamEvent>;
}

interface OpenAiStreamOptions extends Omit<OpenAiEventsOptions, "wire"> {
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
  yield* whatIsThere(() => reading.end(wire.isDone), undefined);
}

/** Servers send what they like: whatever reading it throws means that the stream is broken. */
function* whatIsThere(read: () => Iterable<StreamEvent>, event: unknown): Iterable<StreamEvent> {
  try {
    yield* read();
  } catch (error) {
    throw garbled("an event", event, error);
  }
}

interface OpenAiEventsOptions {
  call: ProviderCall;
  wire: OpenAiWire;
  /** Behind the base URL. */
  path: string;
  /** The request as it was made; `call.onPayload` may change it. */
  request: object;
}

/** Sends a request and reads the events of its answer, whatever they are. Throws as a `Provider` does. */
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
    // Not the SDK's own list of events, which breaks at an event without data, as some proxies send them.
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
  // Not the typed methods: a payload may have been changed into anything, and both protocols go the same way.
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
