import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { buffer, json } from "node:stream/consumers";
import { type Transport, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { type Fault, type Message, misbehave } from "./hostile-server.ts";
import { everything } from "./mcp-session.ts";
import { offeringServer } from "./offering-server.ts";

export interface HttpTestServer extends AsyncDisposable {
  readonly url: string;
}

/** A server on loopback. */
export async function serve(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<HttpTestServer> {
  const server = createServer(handle);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Serves servers of the SDK over HTTP from this process. Each connection has its own. */
export function serveMcp(
  makeServer: () => { connect(transport: Transport): Promise<void> },
): Promise<HttpTestServer> {
  const connections = new Map<string, WebStandardStreamableHTTPServerTransport>();
  return serve(async (request, response) => {
    const connection =
      connections.get(String(request.headers["mcp-session-id"])) ??
      new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void connections.set(id, connection),
      });
    if (connection.sessionId === undefined) await makeServer().connect(connection);
    const { method = "GET" } = request;
    const headers = request.headers as Record<string, string>;
    const body = method === "POST" ? { body: await buffer(request) } : {};
    const answer = await connection.handleRequest(
      new Request("http://127.0.0.1/mcp", { method, headers, ...body }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).flushHeaders();
    if (answer.body === null) response.end();
    else Readable.fromWeb(answer.body as never).pipe(response);
  });
}

export function offeringOverHttp(): Promise<HttpTestServer> {
  return serveMcp(offeringServer);
}

/** `server-everything` in this process. */
export async function everythingOverHttp(): Promise<HttpTestServer> {
  const { createServer } = await import(join(dirname(everything), "server/index.js"));
  return serveMcp(() => createServer().server);
}

/** The hostile server: each reply as events, or as JSON. */
export function hostileOverHttp(
  fault: Fault,
  type: "text/event-stream" | "application/json" = "text/event-stream",
): Promise<HttpTestServer> {
  return serve(async (request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const message = (await json(request)) as Message;
    if (message.id === undefined) {
      response.writeHead(202).end();
      misbehave(fault, message, { send: () => {}, raw: () => {}, die: () => {} });
      return;
    }
    response.writeHead(200, { "content-type": type });
    const isEvents = type === "text/event-stream";
    misbehave(fault, message, {
      send(sent: { id?: number; result?: unknown; error?: unknown }) {
        const line = JSON.stringify(sent);
        const isAnswer = sent.result !== undefined || sent.error !== undefined;
        if (isEvents) response.write(`data: ${line}\n\n`);
        if (isAnswer && sent.id === message.id) response.end(isEvents ? "" : line);
      },
      raw: (text) => void response.write(isEvents ? `data: ${text}` : text),
      die: () => void response.destroy(),
    });
  });
}
