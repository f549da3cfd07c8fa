import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { HttpServer } from "./config.ts";
import { mostMessageBytes, mostMessagesAtOnce, Pace, pause, tooLong } from "./faults.ts";

export interface HttpTransportOptions {
  config: HttpServer;
  /** Default `fetch`. */
  fetch?: FetchLike | undefined;
  /** The connection is of no use any more: it is to be closed. */
  onFault(error: Error): void;
}

/** A stream that broke off and can be resumed is, for seven seconds; after that its calls have failed. */
const reconnectionOptions = {
  initialReconnectionDelay: 500,
  maxReconnectionDelay: 4_000,
  reconnectionDelayGrowFactor: 2,
  maxRetries: 4,
};

/** Speaks with a server at an address. Replies are bounded, and one that breaks off ends its call at once. */
export function httpTransport({
  config,
  fetch: request = fetch,
  onFault,
}: HttpTransportOptions): StreamableHTTPClientTransport {
  return new StreamableHTTPClientTransport(new URL(config.url), {
    requestInit: { headers: { ...config.headers } },
    fetch: async (url, init) => {
      const response = await request(url, init);
      if (response.body === null) return response;
      const reader = response.body.getReader();
      const isEvents = /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
      const body = isEvents ? eventStream(reader, requestIds(init), onFault) : boundedStream(reader, onFault);
      const { status, statusText, headers } = response;
      const bounded = new Response(body, { status, statusText, headers: withoutLength(headers) });
      Object.defineProperties(bounded, {
        url: { value: response.url },
        type: { value: response.type },
        redirected: { value: response.redirected },
      });
      return bounded;
    },
    reconnectionOptions,
  });
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** `fetch` has unpacked what was packed. */
function withoutLength(headers: Headers): Headers {
  const copy = new Headers(headers);
  for (const name of ["content-length", "content-encoding"]) copy.delete(name);
  return copy;
}

/** Ids of the requests that a reply is to. */
function requestIds(init: RequestInit | undefined): (string | number)[] {
  if (typeof init?.body !== "string") return [];
  const messages = [JSON.parse(init.body)].flat() as { id?: string | number; method?: string }[];
  return messages.flatMap(({ id, method }) => (id === undefined || method === undefined ? [] : [id]));
}

function boundedStream(reader: Reader, onFault: (error: Error) => void): ReadableStream<Uint8Array> {
  let bytes = 0;
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await reader.read();
      if (done) return controller.close();
      bytes += value.length;
      if (bytes <= mostMessageBytes) return controller.enqueue(value);
      void reader.cancel().catch(() => {});
      onFault(tooLong());
      controller.error(tooLong());
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/**
 * A stream of events, each bounded. One that ends, or breaks off, and cannot be resumed ends with an error for the
 * requests that it was the reply to: the SDK would let them wait for their time limit.
 */
function eventStream(
  reader: Reader,
  ids: readonly (string | number)[],
  onFault: (error: Error) => void,
): ReadableStream<Uint8Array> {
  const event = new EventSize();
  const pace = new Pace(mostMessagesAtOnce);
  const end = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if (!event.hasId) for (const id of ids) controller.enqueue(brokenOff(id));
    controller.close();
  };
  return new ReadableStream({
    async pull(controller) {
      try {
        const { value, done } = await reader.read();
        if (done) return end(controller);
        const waitMs = pace.add(event.add(value));
        if (waitMs > 0) await pause(waitMs);
        if (event.bytes <= mostMessageBytes) return controller.enqueue(value);
        void reader.cancel().catch(() => {});
        onFault(tooLong());
        controller.error(tooLong());
      } catch (error) {
        if (event.hasId) controller.error(error);
        else end(controller);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** How long the event is that goes on, and whether any had an id by which the stream can be resumed. */
class EventSize {
  bytes = 0;
  hasId = false;
  #lineBytes = 0;
  /** The first bytes of the line that goes on. */
  #start = "";

  /** @returns how many events ended in these bytes */
  add(bytes: Uint8Array): number {
    let events = 0;
    for (const byte of bytes) {
      this.bytes += 1;
      if (byte === 13) continue;
      if (byte === 10) events += this.#endLine();
      else {
        if (this.#lineBytes < 3) this.#start += String.fromCharCode(byte);
        this.#lineBytes += 1;
      }
    }
    return events;
  }

  /** @returns 1 where that was the end of an event */
  #endLine(): number {
    const isEnd = this.#lineBytes === 0;
    if (isEnd) this.bytes = 0;
    if (this.#start === "id:") this.hasId = true;
    this.#start = "";
    this.#lineBytes = 0;
    return isEnd ? 1 : 0;
  }
}

/** The code of the SDK for a connection that was closed. */
export const closedCode = -32_000;

function brokenOff(id: string | number): Uint8Array {
  const error = { code: closedCode, message: "The connection broke during the reply." };
  return new TextEncoder().encode(
    `\n\nevent: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, error })}\n\n`,
  );
}
