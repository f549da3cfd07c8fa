import { Anthropic, APIError } from "@anthropic-ai/sdk";
import type { Stream } from "@anthropic-ai/sdk/core/streaming";
import type { RawMessageStreamEvent } from "@anthropic-ai/sdk/resources/messages";
import type { AnswerBuilder } from "./answer-builder.ts";
import { requestFailure, streamFailure, unexpectedBody } from "./anthropic-error.ts";
import { anthropicRequest } from "./anthropic-request.ts";
import { AnthropicStream } from "./anthropic-stream.ts";
import { type Provider, type ProviderCall, ProviderError } from "./provider.ts";
import type { StreamEvent } from "./stream-event.ts";

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
  const { events, response } = await opened(call, payload);
  const reading = new AnthropicStream(answer);
  const coming = events[Symbol.asyncIterator]();
  try {
    await refuseOtherBody(response);
    for (let next = await coming.next(); !next.done; next = await coming.next()) {
      call.signal.throwIfAborted();
      yield* reading.take(next.value);
      if (reading.isDone) return await readToEnd(coming, events.controller);
    }
  } catch (error) {
    call.signal.throwIfAborted();
    throw streamFailure(error);
  } finally {
    events.controller.abort();
    await coming.return?.();
  }
  // The SDK ends an aborted stream as if it were complete.
  call.signal.throwIfAborted();
  throw new ProviderError({
    kind: "cut",
    message: reading.isStarted
      ? "The stream ended before the answer was complete."
      : "The stream ended before the answer began.",
  });
}

/** After the last event: a connection whose answer was read to its end serves the next request. */
async function readToEnd(coming: AsyncIterator<unknown>, controller: AbortController): Promise<void> {
  const timer = setTimeout(() => controller.abort(), END_WAIT_MS);
  try {
    while (!(await coming.next()).done);
  } catch {
    // The answer is complete: what happens to the connection now is nobody's concern.
  } finally {
    clearTimeout(timer);
  }
}

interface Opened {
  events: Stream<RawMessageStreamEvent>;
  response: Response;
}

async function opened(call: ProviderCall, payload: unknown): Promise<Opened> {
  const { signal } = call;
  signal.throwIfAborted();
  let opened: Opened;
  try {
    // Not `messages.create`, which writes warnings about models to the console.
    const request = sdkClient(call).post<Stream<RawMessageStreamEvent>>("/v1/messages", {
      body: payload,
      stream: true,
      signal,
    });
    const { data, response } = await request.withResponse();
    opened = { events: data, response };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof APIError && error.status !== undefined) {
      await call.onResponse({ status: error.status, headers: plainHeaders(error.headers) });
    }
    throw requestFailure(error);
  }
  try {
    await call.onResponse({ status: opened.response.status, headers: plainHeaders(opened.response.headers) });
  } catch (error) {
    opened.events.controller.abort();
    throw error;
  }
  return opened;
}

/** A client for one request: nothing of it comes from the environment, and nothing is retried, logged or traced. */
function sdkClient({ model, apiKey }: ProviderCall): Anthropic {
  return new Anthropic({
    baseURL: model.baseUrl.replace(/\/+$/, "").replace(/\/v1$/, ""),
    // Without any credential the SDK would look for a person's own in the environment and in files.
    apiKey: apiKey ?? "",
    webhookKey: null,
    maxRetries: 0,
    timeout: NO_TIMEOUT_MS,
    logLevel: "off",
    openTelemetry: false,
    defaultHeaders: { ...unsetCustomHeaders(), ...authorization(model.baseUrl, apiKey), ...model.headers },
  });
}

/** Anthropic takes the key as a bearer token; servers made for its earlier clients look for `x-api-key`. */
function authorization(baseUrl: string, apiKey: string | undefined): Record<string, string | null> {
  if (!apiKey) return { authorization: null };
  return new URL(baseUrl).hostname === "api.anthropic.com" ? {} : { "x-api-key": apiKey };
}

/** The SDK adds the headers of this variable to every request, to whatever server it goes: they may hold secrets. */
function unsetCustomHeaders(): Record<string, undefined> {
  const lines = (process.env.ANTHROPIC_CUSTOM_HEADERS ?? "").split("\n").filter((line) => line.includes(":"));
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(":")).trim(), undefined]));
}

/** A page or an error object instead of a stream, with a status that says nothing of it. */
async function refuseOtherBody(response: Response): Promise<void> {
  const contentType = response.headers.get("content-type") ?? "";
  if (!/json|html/i.test(contentType)) return;
  throw unexpectedBody(response.status, contentType, await response.text());
}

function plainHeaders(headers: Headers | undefined): Record<string, string> {
  return Object.fromEntries(headers?.entries() ?? []);
}
