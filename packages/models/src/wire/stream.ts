import type { ProviderResponse, StreamEvent } from "../model-request.ts";
import {
  type OpenAiClient,
  type OpenAiClientSettings,
  type ProviderCall,
  ProviderError,
} from "../provider.ts";
import { isSdkError, malformed, refusal, requestError, streamError } from "./errors.ts";
import { providerFetch } from "./fetch.ts";
import { jsonOrText } from "./fields.ts";

/** Replaces the SDKs' limit of 10 minutes: `attempt` limits the silence of servers. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
/** Maximum wait for a server to end a complete answer. Read to its end, a connection serves the next request. */
const END_WAIT_MS = 250;

/** Reads a protocol's events into an answer. */
export interface AnswerReading {
  /** True after the reason for the end. Only the usage can follow. */
  readonly isFinished: boolean;
  /** True if nothing can follow. */
  readonly isComplete: boolean;
  take(event: unknown): Iterable<StreamEvent>;
  /**
   * Called at the end of the stream.
   * @param isDone true after the server's `[DONE]`
   * @throws ProviderError for an incomplete answer
   */
  end(isDone: boolean): Iterable<StreamEvent>;
}

export interface WireRequest {
  call: ProviderCall;
  /** Follows the base URL. */
  path: string;
  /** `call.onPayload` may change it. */
  request: object;
  reading: AnswerReading;
  client: (settings: OpenAiClientSettings) => OpenAiClient | Promise<OpenAiClient>;
  /** The SDK's parser of event streams. Its list of events fails at an event without data, which some proxies send. */
  parse: (
    response: Response,
    closer: AbortController,
  ) => AsyncIterable<{ event: string | null; data: string }>;
  isError: (event: unknown) => boolean;
  /** True if the protocol ends with `[DONE]`. Otherwise a complete answer ends it, and `[DONE]` is ignored. */
  endsWithDone: boolean;
}

/** Sends a request and reads its answer. Throws as a `Provider` does. */
export async function* wireStream(wire: WireRequest): AsyncGenerator<StreamEvent, void, undefined> {
  const { call, reading, parse, isError } = wire;
  const closer = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let isDone = false;
  try {
    const response = await opened(wire, closer.signal);
    await call.onResponse(responseHead(response.status, response.headers));
    try {
      for await (const { event, data } of parse(response, closer)) {
        call.signal.throwIfAborted();
        const text = data.trim();
        if (text === "[DONE]") isDone = wire.endsWithDone;
        else if (!isDone && (text !== "" || event === "error")) {
          const body: unknown = event === "error" ? jsonOrText(data) : JSON.parse(data);
          if (event === "error" || isError(body)) throw refusal({ body, headers: response.headers });
          yield* eventsRead(() => reading.take(body), body);
          isDone ||= !wire.endsWithDone && reading.isComplete;
        }
        if (isDone || reading.isComplete) timer ??= setTimeout(() => closer.abort(), END_WAIT_MS).unref();
      }
    } catch (error) {
      call.signal.throwIfAborted();
      const failure = streamError(error);
      const isHarmless = failure.kind === "cut" ? reading.isFinished : reading.isComplete;
      // An error event before `[DONE]` counts even after a complete answer: a gateway's filter may have blocked it.
      if (!isDone && (failure.kind === "refused" || !isHarmless)) throw failure;
    }
    yield* eventsRead(() => reading.end(isDone), undefined);
  } finally {
    clearTimeout(timer);
    closer.abort();
  }
}

async function opened({ call, path, request, client }: WireRequest, closed: AbortSignal): Promise<Response> {
  const { signal, onAlive, onPayload, onResponse } = call;
  signal.throwIfAborted();
  const body = await onPayload(request);
  let refused: string | undefined;
  const onRefusal = (text: string) => {
    refused = text;
  };
  try {
    const sdk = await client({
      maxRetries: 0,
      timeout: NO_TIMEOUT_MS,
      logLevel: "off",
      fetch: providerFetch({ onAlive, onRefusal }),
    });
    signal.throwIfAborted();
    // The typed methods do not fit a changed payload, and write warnings to the console.
    const options = { body, stream: true, signal: AbortSignal.any([signal, closed]) } as const;
    return await sdk.post(path, options).asResponse();
  } catch (error) {
    signal.throwIfAborted();
    if (isSdkError(error) && error.status !== undefined)
      await onResponse(responseHead(error.status, error.headers));
    throw requestError(error, refused);
  }
}

function responseHead(status: number, headers: Headers | undefined): ProviderResponse {
  return { status, headers: Object.fromEntries(headers?.entries() ?? []) };
}

function* eventsRead(read: () => Iterable<StreamEvent>, event: unknown): Iterable<StreamEvent> {
  try {
    yield* read();
  } catch (error) {
    if (error instanceof ProviderError) throw error;
    throw malformed(`The server sent an event${typeOf(event)} in an unexpected format.`, event, error);
  }
}

function typeOf(event: unknown): string {
  const { type } = (event ?? {}) as { type?: unknown };
  return typeof type === "string" ? ` (${type.slice(0, 100)})` : "";
}

/**
 * Default headers that remove the headers of a variable (`Name: value` lines), which the SDKs add to requests to every
 * server. They may contain secrets.
 */
export function withoutCustomHeaders(variable: string | undefined): Record<string, null> {
  const names = (variable ?? "").split("\n").map((line) => /^([^:]*):/.exec(line)?.[1]?.trim() ?? "");
  return Object.fromEntries(names.filter((name) => name !== "").map((name) => [name, null]));
}
