import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { agentCallSettings } from "../call/settings.ts";
import { RecallServer } from "./server.ts";

const INDEX_AFTER_MS = 1_000;

/** Serves until the client closes stdin, or a signal comes. */
export async function serve(invocation: Invocation): Promise<ExitCode> {
  const { io } = invocation;
  const isIndexed = agentCallSettings(invocation).index.enabled;
  return io.interruptible(async (signal) => {
    const server = new RecallServer({ io, isIndexed });
    const ended = new AbortController();
    const transport = new StdioServerTransport();
    const handle = serveStdio(
      () => {
        server.mcp.server.onclose = () => ended.abort();
        return server.mcp;
      },
      {
        transport,
        onerror: ({ message }) =>
          invocation.output.notify({
            /** The server cannot read a message of the MCP client, or the connection failed. */
            code: "mcp_problem",
            message,
          }),
      },
    );
    const over = AbortSignal.any([signal, ended.signal]);
    process.stdin.once("end", () => ended.abort());
    const end = new Promise<void>((resolve) =>
      over.addEventListener("abort", () => resolve(), { once: true }),
    );
    // The first search then finds an index. The client's first requests come before.
    const catchUp = () =>
      server.catchUp(over).catch(() => {
        // The next search reports the error.
      });
    setTimeout(catchUp, INDEX_AFTER_MS).unref();
    await end;
    await handle.close();
    server.close();
    return ExitCode.done;
  });
}
