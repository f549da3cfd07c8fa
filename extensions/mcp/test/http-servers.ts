import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { everything } from "./mcp-session.ts";
import { offeringServer } from "./offering-server.ts";

interface HttpTestServer extends AsyncDisposable {
  readonly url: string;
}

/** A server on loopback. */
export async function serve(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<HttpTestServer> {
  const server = createServer(handle);
  const port = await listening(server);
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Serves the offering server over HTTP from this process. Each connection has its own server, which sends only during a request. */
export function offeringOverHttp(): Promise<HttpTestServer> {
  const connections = new Map<string, WebStandardStreamableHTTPServerTransport>();
  return serve(async (request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const connection =
      connections.get(String(request.headers["mcp-session-id"])) ??
      new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse: true,
        onsessioninitialized: (id) => void connections.set(id, connection),
      });
    if (connection.sessionId === undefined) await offeringServer().connect(connection);
    const headers = request.headers as Record<string, string>;
    const body = await buffer(request);
    const answer = await connection.handleRequest(
      new Request("http://127.0.0.1/mcp", { method: "POST", headers, body }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  });
}

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** `server-everything` in one of its HTTP modes. */
export async function everythingOverHttp(mode: "streamableHttp" | "sse"): Promise<HttpTestServer> {
  const free = createServer();
  const port = await listening(free);
  free.close();
  const program = spawn(process.execPath, [everything, mode], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  await once(program.stderr, "data");
  program.stderr.resume();
  const path = mode === "sse" ? "sse" : "mcp";
  return { url: `http://127.0.0.1:${port}/${path}`, [Symbol.asyncDispose]: () => killed(program) };
}

async function killed(program: ChildProcess): Promise<void> {
  if (program.exitCode !== null || program.signalCode !== null) return;
  program.kill("SIGKILL");
  await once(program, "exit");
}
