import { APIError } from "openai";
import { _iterSSEMessages as sseMessages } from "openai/core/streaming";
import type { ProviderCall } from "../provider.ts";
import { responseHead } from "../response-head.ts";
import { jsonOrText } from "../wire-text.ts";
import { refusal, requestError, streamError } from "./openai-error.ts";
import type { OpenAiWire } from "./openai-wire.ts";

export interface OpenAiEventsOptions {
  call: ProviderCall;
  wire: OpenAiWire;
  /** Behind the base URL. */
  path: string;
  /** The request as it was made; `call.onPayload` may change it. */
  request: object;
}

/** Sends a request and reads the events of its answer, whatever they are. Throws as a `Provider` does. */
export async function* openAiEvents(options: OpenAiEventsOptions): AsyncGenerator<unknown, void, undefined> {
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
      if (text === "[DONE]") wire.sayDone();
      if (text === "" || wire.saidDone) continue;
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
  return wire.client
    .post(path, { body, stream: true, signal: both })
    .asResponse()
    .catch(async (error: unknown) => {
      signal.throwIfAborted();
      if (error instanceof APIError && error.status !== undefined) {
        await onResponse(responseHead(error.status, error.headers));
      }
      throw requestError(error, wire);
    });
}
