import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request as the server got it. */
export interface LoopbackRequest {
  method: string;
  /** Path and query. */
  path: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The parsed JSON, or the text where it is none. */
  body: unknown;
}

/** The answer to one request. */
export interface LoopbackReply {
  /** Default 200. */
  status?: number;
  headers?: Readonly<Record<string, string>>;
  /** Written one after the other: text or bytes. Default none. */
  chunks?: readonly (string | Uint8Array)[];
  /** Written behind the chunks for as long as the client reads; may have no end. */
  more?: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;
  /**
   * Default "close". "cut": the connection is destroyed after the chunks. "hang": nothing more comes, and nothing ends,
   * until the client or the test gives up. "mute": the same, without a head. "refuse": the connection is destroyed
   * before anything is said.
   */
  end?: "close" | "cut" | "hang" | "mute" | "refuse";
}

export interface LoopbackServer {
  /** `http://127.0.0.1:PORT`, without a trailing slash. */
  url: string;
  /** Earlier requests, oldest first. */
  requests: readonly LoopbackRequest[];
  close(): Promise<void>;
}

/** A server on the loopback device with the replies and faults of a test. */
export async function loopbackServer(
  answer: (request: LoopbackRequest, index: number) => LoopbackReply | Promise<LoopbackReply>,
): Promise<LoopbackServer> {
  const requests: LoopbackRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const request = await readRequest(incoming);
    requests.push(request);
    await play(await answer(request, requests.length - 1), response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function readRequest(incoming: IncomingMessage): Promise<LoopbackRequest> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  const text = Buffer.concat(parts).toString("utf8");
  const { method = "GET", url: path = "/", headers } = incoming;
  return { method, path, headers, body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function play(reply: LoopbackReply, response: ServerResponse): Promise<void> {
  const { status = 200, headers = {}, chunks = [], more = [], end = "close" } = reply;
  if (end === "mute") return;
  if (end === "refuse") {
    response.destroy();
    return;
  }
  response.writeHead(status, headers);
  // Without a body the head would wait for the end.
  response.flushHeaders();
  for (const chunk of chunks) await written(response, chunk);
  for await (const chunk of more) {
    if (response.destroyed) return;
    await written(response, chunk);
  }
  if (end === "close") response.end();
  if (end === "cut") response.destroy();
}

function written(response: ServerResponse, chunk: string | Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    response.write(chunk, () => resolve());
  });
}

/** Events of a server-sent stream as chunks: `event` is left out where it is undefined. */
export function sseChunks(events: readonly { event?: string | undefined; data: unknown }[]): string[] {
  return events.map(({ event, data }) => {
    const text = typeof data === "string" ? data : JSON.stringify(data);
    return `${event === undefined ? "" : `event: ${event}\n`}data: ${text}\n\n`;
  });
}
