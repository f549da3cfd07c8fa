import type { IncomingMessage, ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readResult } from "../src/result.ts";
import { McpServer, type McpServerOptions } from "../src/server.ts";
import { hostileOverHttp, serve } from "./http-servers.ts";
import { script } from "./mcp-session.ts";

const hostile = fileURLToPath(import.meta.resolve("./hostile-server.ts"));
const { signal } = new AbortController();

function server(entry: object, options: Omit<McpServerOptions, "config"> = {}): McpServer & AsyncDisposable {
  const usual = {
    name: "it",
    file: "",
    isEnabled: true,
    timeoutMs: 60_000,
    hasRoots: true,
    headers: {},
  };
  const config = { ...usual, type: "url" in entry ? "http" : "stdio", env: {}, cwd: "/", ...entry };
  const made = new McpServer({ config: config as never, ...options });
  return Object.assign(made, { [Symbol.asyncDispose]: () => made.close() });
}

test("an open question to the user stops the clocks of the server's calls", async () => {
  await using http = await hostileOverHttp("fatal");
  await using one = server({ url: http.url });
  await one.connect();
  expect(one.state).toBe("ready");
  Object.assign(one.config, { timeoutMs: 100 });
  await expect(one.callTool("late", {}, { signal })).rejects.toThrow("did not answer within 0.1 s");
  const resume = one.pauseCalls();
  expect(await one.callTool("late", {}, { signal })).toMatchObject({ content: [{ text: "Late." }] });
  resume();
  await expect(one.callTool("late", {}, { signal })).rejects.toThrow("did not answer within 0.1 s");
});

test("onChange reports each state, and a server closed while it reconnects stays closed", async () => {
  await using http = await hostileOverHttp("fatal");
  const states: string[] = [];
  await using one = server({ url: http.url }, { onChange: ({ state }) => void states.push(state) });
  await Promise.all([one.connect(), one.connect()]);
  await one.close();
  expect(states).toEqual(["connecting", "ready", "closed"]);
  await one.reconnect();
  expect(one.state).toBe("ready");
  const connecting = one.reconnect();
  await one.close();
  await connecting;
  expect(one.state).toBe("closed");
});

test("keys of an entry are masked in results", () => {
  const config = { type: "stdio", name: "it", env: { API_KEY: "sk-0123456789abcdef" } } as never;
  const { content, details } = readResult(
    { content: [], structuredContent: { said: "it is sk-0123456789abcdef" } },
    config,
    "t",
  );
  expect(content).toEqual([{ type: "text", text: '{"said":"it is [API_KEY]"}' }]);
  expect(details).toMatchObject({ structuredContent: { said: "it is [API_KEY]" } });
});

const results: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "it", version: "1" },
  },
  "tools/list": { tools: [{ name: "t", inputSchema: { type: "object" } }] },
};

/** A server over HTTP with a handler for each request. */
function answering(
  handle: (
    message: { id: number; method: string },
    request: IncomingMessage,
    response: ServerResponse,
  ) => void,
) {
  return serve(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const message =
      chunks.length === 0 ? { id: -1, method: "GET" } : JSON.parse(Buffer.concat(chunks).toString());
    handle(message, request, response);
    if (response.writableEnded || response.headersSent) return;
    const result = results[message.method];
    if (result === undefined) return void response.writeHead(message.id === -1 ? 405 : 202).end();
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
  });
}

const done = (id: number) => JSON.stringify({ jsonrpc: "2.0", id, result: { content: [] } });

test("a broken reply over HTTP is resumed", async () => {
  let asked = 0;
  await using http = await answering(({ id, method }, request, response) => {
    if (method === "tools/call") {
      asked = id;
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end("id: 7\nretry: 1\ndata:\n\n");
    } else if (request.headers["last-event-id"] === "7") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`id: 8\ndata: ${done(asked)}\n\n`);
    }
  });
  await using one = server({ url: http.url });
  expect(await one.callTool("t", {}, { signal })).toEqual({ content: [] });
});

test("a server over HTTP that forgot the session is reconnected and called again", async () => {
  let sessions = 0;
  let calls = 0;
  await using http = await answering(({ id, method }, request, response) => {
    if (method === "initialize") {
      sessions += 1;
      response.setHeader("mcp-session-id", `s${sessions}`);
    }
    if (method !== "tools/call") return;
    calls += 1;
    if (request.headers["mcp-session-id"] === "s1") response.writeHead(404).end();
    else response.writeHead(200, { "content-type": "application/json" }).end(done(id));
  });
  await using one = server({ url: http.url });
  expect(await one.callTool("t", {}, { signal })).toEqual({ content: [] });
  expect([sessions, calls, one.state]).toEqual([2, 2, "ready"]);
});

test.each([
  [401, "", "The server refused the headers of its entry (status 401). Correct them in /mcp.json."],
  [503, "Back at noon.", "The server answered with status 503: Back at noon."],
  [500, "<html>a page</html>", "The server answered with status 500."],
])("names the status %i of a server over HTTP", async (status, text, problem) => {
  await using http = await answering(
    (_message, _request, response) => void response.writeHead(status).end(text),
  );
  await using one = server({ url: http.url, file: "/mcp.json" });
  await one.connect();
  expect([one.state, one.problem]).toEqual(["failed", problem]);
});

test("a call to a server over HTTP that is gone closes the connection with one notice", async () => {
  const notices: string[] = [];
  const http = await answering(() => {});
  await using other = server({ url: http.url }, { onNotice: (message) => void notices.push(message) });
  await other.connect();
  await http[Symbol.asyncDispose]();
  await expect(other.callTool("t", {}, { signal })).rejects.toThrow(/disconnected during the call/);
  await expect(other.callTool("t", {}, { signal })).rejects.toThrow(/The MCP server it is not connected: /);
  expect(notices).toHaveLength(1);
});

test("a call that hangs or only reports progress is cancelled with an answer for the model", async () => {
  await using http = await hostileOverHttp("fatal");
  await using one = server({ url: http.url });
  await one.connect();
  Object.assign(one.config, { timeoutMs: 50 });
  await expect(one.callTool("hang", {}, { signal })).rejects.toThrow(
    "The MCP server it did not answer within 0.05 s. The call was cancelled.",
  );
  Object.assign(one.config, { timeoutMs: 60_000 });
  expect(await one.callTool("cancelled", {}, { signal })).toMatchObject({
    content: [{ text: expect.stringMatching(/^cancelled: [1-9]/) }],
  });
  Object.assign(one.config, { timeoutMs: 50 });
  await expect(one.callTool("drip", {}, { signal })).rejects.toThrow(
    /^The MCP server it did not (answer|finish) within [\d.]+ s\. The call was cancelled\.$/,
  );
  Object.assign(one.config, { timeoutMs: 60_000 });
  expect(await one.callTool("fine", {}, { signal })).toMatchObject({ content: [{ type: "text" }] });
});

test("a server over HTTP that is silent after its greeting fails to connect", async () => {
  await using http = await answering(({ method }, _request, response) => {
    if (method === "notifications/initialized")
      response.writeHead(200, { "content-type": "text/event-stream" });
  });
  await using one = server({ url: http.url, timeoutMs: 200 });
  await expect(one.callTool("t", {}, { signal })).rejects.toThrow(/^The MCP server it is not connected: /);
  expect(one.state).toBe("failed");
});

test("progress in one chunk with the result is shown", async () => {
  await using program = server(script(hostile, "fatal"));
  await using sse = await hurriedOverSse();
  await using remote = server({ url: sse.url, isSse: true });
  for (const one of [program, remote]) {
    const shown: number[] = [];
    await one.callTool("hurried", {}, { signal, onProgress: ({ progress }) => void shown.push(progress) });
    expect(shown).toEqual([1, 2]);
  }
});

/** A server over SSE that sends the progress and the result of a call in one piece. */
function hurriedOverSse() {
  let events: ServerResponse | undefined;
  return answering(({ id, method }, request, response) => {
    if (request.method === "GET") {
      events = response.writeHead(200, { "content-type": "text/event-stream" });
      events.write("event: endpoint\ndata: /mcp\n\n");
      return;
    }
    response.writeHead(202).end();
    const progress = (progress: number) => ({
      method: "notifications/progress",
      params: { progressToken: id, progress },
    });
    const result = { id, result: results[method] ?? { content: [] } };
    const messages = method === "tools/call" ? [progress(1), progress(2), result] : [result];
    const sent = messages.map((message) => `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
    if (id !== undefined) events?.write(sent.join(""));
  });
}
