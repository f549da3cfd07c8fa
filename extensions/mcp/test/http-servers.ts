import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { everything } from "./mcp-session.ts";

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

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** `server-everything` in its own HTTP mode. */
export async function everythingOverHttp(): Promise<HttpTestServer> {
  const free = createServer();
  const port = await listening(free);
  free.close();
  const program = spawn(process.execPath, [everything, "streamableHttp"], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  await once(program.stderr, "data");
  program.stderr.resume();
  return { url: `http://127.0.0.1:${port}/mcp`, [Symbol.asyncDispose]: () => killed(program) };
}

async function killed(program: ChildProcess): Promise<void> {
  if (program.exitCode !== null || program.signalCode !== null) return;
  program.kill("SIGKILL");
  await once(program, "exit");
}

/** A server that speaks stdio, behind the SDK's own transport for HTTP. */
export async function overHttp(command: string, args: string[]): Promise<HttpTestServer> {
  const inner = new StdioClientTransport({ command, args, stderr: "ignore" });
  const outer = new StreamableHTTPServerTransport({ sessionIdGenerator: () => "one" });
  outer.onmessage = (message) => void inner.send(message);
  inner.onmessage = (message) =>
    void outer.send(
      message,
      "id" in message && !("method" in message) ? { relatedRequestId: message.id! } : {},
    );
  await inner.start();
  await outer.start();
  const server = await serve((request, response) => void outer.handleRequest(request, response));
  return {
    url: server.url,
    async [Symbol.asyncDispose]() {
      await Promise.all([server[Symbol.asyncDispose](), outer.close(), inner.close()]);
    },
  };
}
