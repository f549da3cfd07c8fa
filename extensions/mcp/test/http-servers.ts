import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
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
