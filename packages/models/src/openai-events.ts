import { APIError } from "openai";
import type { Stream } from "openai/core/streaming";
import { requestError, streamError } from "./openai-error.ts";
import type { OpenAiWire } from "./openai-wire.ts";
import { type ProviderCall, ProviderError } from "./provider.ts";

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
  const { signal } = options.call;
  const events = await opened(options);
  try {
    for await (const event of events) {
      signal.throwIfAborted();
      yield event;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw streamError(error);
  }
  // The SDK ends an aborted stream as if it were complete.
  signal.throwIfAborted();
}

async function opened({ call, wire, path, request }: OpenAiEventsOptions): Promise<Stream<unknown>> {
  const { signal, onResponse } = call;
  signal.throwIfAborted();
  const body = await call.onPayload(request);
  // Not the typed methods: a payload may have been changed into anything, and both protocols go the same way.
  const sent = wire.client.post<Stream<unknown>>(path, { body, stream: true, signal }).withResponse();
  const { data, response } = await sent.catch(async (error: unknown) => {
    signal.throwIfAborted();
    if (error instanceof APIError && error.status !== undefined) {
      await onResponse({ status: error.status, headers: plainHeaders(error.headers) });
    }
    throw requestError(error, wire);
  });
  try {
    await onResponse({ status: response.status, headers: plainHeaders(response.headers) });
  } catch (error) {
    data.controller.abort();
    throw error;
  }
  if (/html/i.test(response.headers.get("content-type") ?? "")) throw await pageInstead(response);
  return data;
}

/** A proxy's page, or a base URL that leads to a web site. */
async function pageInstead(response: Response): Promise<ProviderError> {
  return new ProviderError({
    kind: "garbled",
    message: `Instead of an answer the server sent a page, with status ${response.status}. Is the base URL right?`,
    body: await response.text(),
  });
}

function plainHeaders(headers: Headers | undefined): Record<string, string> {
  return Object.fromEntries(headers?.entries() ?? []);
}
