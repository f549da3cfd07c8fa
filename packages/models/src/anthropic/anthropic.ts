import { Anthropic, APIError } from "@anthropic-ai/sdk";
import { textHead } from "@bonsai-agent/messages";
import type { AnswerBuilder } from "../answer-builder.ts";
import type { StreamEvent } from "../model-request.ts";
import { type Provider, type ProviderCall, ProviderError } from "../provider.ts";
import { garbled, providerFetch, responseHead, streamError, withoutCustomHeaders } from "../wire.ts";
import { requestFailure, unexpectedBody } from "./anthropic-error.ts";
import { anthropicRequest, isAnthropicHost } from "./anthropic-request.ts";
import { type AnthropicEvent, AnthropicStream, anthropicEvents } from "./anthropic-stream.ts";

/** The provider of the Anthropic Messages API, for Anthropic and compatible servers. */
export function anthropicProvider(): Provider {
  return { stream };
}

/** Replaces the SDK's limit: `attempt` limits the silence of servers. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

/** Maximum wait for a server to close the connection after a complete answer. */
const END_WAIT_MS = 250;

async function* stream(call: ProviderCall, answer: AnswerBuilder): AsyncIterable<StreamEvent> {
  const payload = await call.onPayload(anthropicRequest(call));
  const closer = new AbortController();
  const response = await opened(call, payload, closer.signal);
  const reading = new AnthropicStream(answer);
  const coming = anthropicEvents(response, closer);
  try {
    await call.onResponse(responseHead(response.status, response.headers));
    yield* answerEvents({ call, response, reading, coming });
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

async function* answerEvents({ call, response, reading, coming }: AnswerOptions): AsyncIterable<StreamEvent> {
  try {
    await refuseOtherBody(response);
    while (!reading.isDone) {
      const { value, done } = await coming.next();
      call.signal.throwIfAborted();
      if (done) throw cut(reading);
      yield* eventsOf(reading, value);
    }
  } catch (error) {
    call.signal.throwIfAborted();
    throw streamError(error);
  }
}

function* eventsOf(reading: AnthropicStream, event: AnthropicEvent): Iterable<StreamEvent> {
  try {
    yield* reading.take(event);
  } catch (error) {
    throw garbled(`an event (${typeOf(event)})`, event, error);
  }
}

function typeOf({ type }: { type?: unknown }): string {
  return typeof type === "string" ? textHead(type, 100) : "no type";
}

function cut({ isStarted }: AnthropicStream): ProviderError {
  return new ProviderError({
    kind: "cut",
    message: `The stream ended before the answer ${isStarted ? "was complete" : "began"}.`,
  });
}

/** A connection whose answer was read to its end serves the next request. */
async function readToEnd(coming: AsyncIterator<unknown>, closer: AbortController): Promise<void> {
  const timer = setTimeout(() => closer.abort(), END_WAIT_MS);
  try {
    while (!(await coming.next()).done);
  } catch {
    // The answer is complete.
  } finally {
    clearTimeout(timer);
  }
}

async function leave(coming: AsyncGenerator<unknown, void, void>, closer: AbortController): Promise<void> {
  try {
    await coming.return();
  } catch {
    // The request was aborted.
  } finally {
    closer.abort();
  }
}

async function opened(call: ProviderCall, payload: unknown, closed: AbortSignal): Promise<Response> {
  call.signal.throwIfAborted();
  try {
    // `messages.create` writes warnings about models to the console.
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

/** Makes a client for one request. It uses nothing from the environment, and does not retry, log or trace. */
function sdkClient({ model, apiKey, onAlive }: ProviderCall): Anthropic {
  return new Anthropic({
    // `new URL` refuses an empty address, for which the SDK uses Anthropic's.
    baseURL: new URL(model.baseUrl).href.replace(/(?<!\/)\/+$/, "").replace(/\/v1$/, ""),
    // Without a key, the SDK searches the environment and files for the user's own.
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

/** The SDK sends the key to Anthropic as a bearer token. Other servers expect `x-api-key`. */
function authorization(baseUrl: string, apiKey: string | undefined): Record<string, string | null> {
  if (!apiKey) return { authorization: null };
  return isAnthropicHost(baseUrl) ? {} : { "x-api-key": apiKey };
}

/** Some servers send an error object with a status of success. */
async function refuseOtherBody(response: Response): Promise<void> {
  const contentType = response.headers.get("content-type") ?? "";
  if (!/json/i.test(contentType)) return;
  throw unexpectedBody(response.status, contentType, await response.text());
}
