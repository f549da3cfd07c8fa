import { Anthropic, APIError } from "@anthropic-ai/sdk";
import { textHead } from "@bonsai-agent/messages";
import type { AnswerBuilder } from "../answer-builder.ts";
import type { StreamEvent } from "../model-request.ts";
import { type Provider, type ProviderCall, ProviderError } from "../provider.ts";
import { garbled, providerFetch, responseHead, withoutCustomHeaders } from "../wire.ts";
import { requestFailure, streamFailure, unexpectedBody } from "./anthropic-error.ts";
import { anthropicRequest, isAnthropicHost } from "./anthropic-request.ts";
import { type AnthropicEvent, AnthropicStream, anthropicEvents } from "./anthropic-stream.ts";

/** Speaks the Anthropic Messages API, with Anthropic and with every server that understands it. */
export function anthropicProvider(): Provider {
  return { stream };
}

/** The longest that a timer can wait: how long to wait for an answer is the client's decision, not the SDK's. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

/** How long a server may leave the connection open behind a complete answer. */
const END_WAIT_MS = 250;

async function* stream(call: ProviderCall, answer: AnswerBuilder): AsyncIterable<StreamEvent> {
  const payload = await call.onPayload(anthropicRequest(call));
  const closer = new AbortController();
  const response = await opened(call, payload, closer.signal);
  const reading = new AnthropicStream(answer);
  const coming = anthropicEvents(response, closer);
  try {
    await call.onResponse(responseHead(response.status, response.headers));
    yield* answerOf({ call, response, reading, coming });
    await readToEnd(coming, closer);
  } finally {
    await leave(coming, closer);
  }
}

interface AnswerOptions {
  call: ProviderCall;
  response: Response;
  reading: AnthropicStream;
  coming: AsyncGenerator<AnthropicEvent, void, void>;
}

async function* answerOf({ call, response, reading, coming }: AnswerOptions): AsyncIterable<StreamEvent> {
  try {
    await refuseOtherBody(response);
    while (!reading.isDone) {
      const { value, done } = await coming.next();
      call.signal.throwIfAborted();
      if (done) throw cut(reading);
      yield* taken(reading, value);
    }
  } catch (error) {
    call.signal.throwIfAborted();
    throw streamFailure(error);
  }
}

function* taken(reading: AnthropicStream, event: AnthropicEvent): Iterable<StreamEvent> {
  try {
    yield* reading.take(event);
  } catch (error) {
    throw garbled(`an event (${named(event)})`, event, error);
  }
}

function named({ type }: { type?: unknown }): string {
  return typeof type === "string" ? textHead(type, 100) : "no type";
}

function cut({ isStarted }: AnthropicStream): ProviderError {
  return new ProviderError({
    kind: "cut",
    message: `The stream ended before the answer ${isStarted ? "was complete" : "began"}.`,
  });
}

/** After the last event: a connection whose answer was read to its end serves the next request. */
async function readToEnd(coming: AsyncIterator<unknown>, closer: AbortController): Promise<void> {
  const timer = setTimeout(() => closer.abort(), END_WAIT_MS);
  try {
    while (!(await coming.next()).done);
  } catch {
    // The answer is complete: what happens to the connection now is nobody's concern.
  } finally {
    clearTimeout(timer);
  }
}

async function leave(coming: AsyncGenerator<unknown, void, void>, closer: AbortController): Promise<void> {
  try {
    await coming.return();
  } catch {
    // The body of a request that was aborted: nobody reads it any more.
  } finally {
    closer.abort();
  }
}

/** Sends the request; the response's body has not been read. */
async function opened(call: ProviderCall, payload: unknown, closed: AbortSignal): Promise<Response> {
  call.signal.throwIfAborted();
  try {
    // Not `messages.create`, which writes warnings about models to the console.
    const request = sdkClient(call).post("/v1/messages", {
      body: payload,
      stream: true,
      signal: AbortSignal.any([call.signal, closed]),
    });
    return await request.asResponse();
  } catch (error) {
    call.signal.throwIfAborted();
    if (error instanceof APIError && error.status !== undefined) {
      await call.onResponse(responseHead(error.status, error.headers));
    }
    throw requestFailure(error);
  }
}

/** A client for one request: nothing of it comes from the environment, and nothing is retried, logged or traced. */
function sdkClient({ model, apiKey, onAlive }: ProviderCall): Anthropic {
  return new Anthropic({
    // Parsed, because the SDK takes an empty one for Anthropic's own.
    baseURL: new URL(model.baseUrl).href.replace(/(?<!\/)\/+$/, "").replace(/\/v1$/, ""),
    // Without any credential the SDK would look for a person's own in the environment and in files.
    apiKey: apiKey ?? "",
    webhookKey: null,
    maxRetries: 0,
    timeout: NO_TIMEOUT_MS,
    logLevel: "off",
    openTelemetry: false,
    fetch: providerFetch(onAlive),
    defaultHeaders: {
      ...withoutCustomHeaders(process.env.ANTHROPIC_CUSTOM_HEADERS),
      ...authorization(model.baseUrl, apiKey),
      ...model.headers,
    },
  });
}

/** Anthropic takes the key as a bearer token; servers made for its earlier clients look for `x-api-key`. */
function authorization(baseUrl: string, apiKey: string | undefined): Record<string, string | null> {
  if (!apiKey) return { authorization: null };
  return isAnthropicHost(baseUrl) ? {} : { "x-api-key": apiKey };
}

/** An error object instead of a stream, with a status that says nothing of it. */
async function refuseOtherBody(response: Response): Promise<void> {
  const contentType = response.headers.get("content-type") ?? "";
  if (!/json/i.test(contentType)) return;
  throw unexpectedBody(response.status, contentType, await response.text());
}
