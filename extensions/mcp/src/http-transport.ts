import {
  type AuthProvider,
  type FetchLike,
  type JSONRPCMessage,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
  type TransportSendOptions,
} from "@modelcontextprotocol/client";
import type { HttpServer } from "./config.ts";
import { MAX_MESSAGE_BYTES, tooLong } from "./faults.ts";

/**
 * Speaks with a server at an address. Replies are bounded.
 * @param onFault called once the connection cannot be used any more
 */
export function httpTransport(
  config: HttpServer,
  auth: AuthProvider | undefined,
  onFault: (error: Error) => void,
): Transport {
  const url = new URL(config.url);
  const options = {
    requestInit: { headers: { ...config.headers } },
    fetch: boundedFetch(onFault),
    ...(auth && { authProvider: auth }),
  };
  if (config.isSse === true) return new SSEClientTransport(url, options);
  return new HttpTransport(url, { ...options, onInsufficientScope: "throw" });
}

/** Ends a call whose reply breaks off and cannot be resumed. The SDK lets it wait for its time limit. */
class HttpTransport extends StreamableHTTPClientTransport {
  override send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (!("method" in message && "id" in message)) return super.send(message, options);
    const error = { code: -32_000, message: "The connection broke during the reply." };
    // The SDK ignores the error after an answer.
    const onRequestStreamEnd = () => this.onmessage?.({ jsonrpc: "2.0", id: message.id, error });
    return super.send(message, { ...options, onRequestStreamEnd });
  }
}

/** Fails for a reply, or an event of a stream, that is too long. */
function boundedFetch(onFault: (error: Error) => void): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const isEvents = /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
    let bytes = 0;
    const bounds = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const end = isEvents ? lastEventEnd(chunk) : 0;
        bytes = end > 0 ? chunk.length - end : bytes + chunk.length;
        if (bytes <= MAX_MESSAGE_BYTES) return controller.enqueue(chunk);
        onFault(tooLong());
        controller.error(tooLong());
      },
    });
    return new Response(response.body.pipeThrough(bounds), response);
  };
}

/** The end of the last event in a chunk: an empty line. 0 if there is none. */
function lastEventEnd(chunk: Uint8Array): number {
  for (let at = chunk.lastIndexOf(10); at > 0; at = chunk.lastIndexOf(10, at - 1))
    if (chunk[at - 1] === 10 || (chunk[at - 1] === 13 && chunk[at - 2] === 10)) return at + 1;
  return 0;
}
