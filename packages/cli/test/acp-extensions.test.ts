import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test, vi } from "vitest";
import { AcpClient } from "./acp-client.ts";
import { agentProject } from "./agent-project.ts";
import { does } from "./rpc-extension.ts";

/** A server of one tool, which writes the protocol by hand. */
const server = `
import { createInterface } from "node:readline";
const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "hand", version: "1" },
  }),
  "tools/list": () => ({ tools: [{ name: "greet", inputSchema: { type: "object" } }] }),
  "tools/call": () => ({ content: [{ type: "text", text: "hello from " + process.env.PLACE }] }),
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined)
    console.log(JSON.stringify({ jsonrpc: "2.0", id, result: results[method]?.(params) ?? {} }));
});`;

type Params = { protocolVersion?: string } | undefined;

/** The result of a server with one tool, which greets. */
function resultOf(method: string, params: Params, greeting: string): object {
  const serverInfo = { name: "hand", version: "1" };
  const results: Record<string, object> = {
    initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo },
    "tools/list": { tools: [{ name: "greet", inputSchema: { type: "object" } }] },
    "tools/call": { content: [{ type: "text", text: greeting }] },
  };
  return results[method] ?? {};
}

describe("extensions in an editor", () => {
  test("a server that the client passes gives its tools to the session", async () => {
    const project = agentProject(
      { contextWindow: 100_000, turn: [{ calls: [{ name: "mcp__my_server__greet" }] }, { text: "Done." }] },
      { "server.mjs": server },
    );
    vi.stubEnv("BONSAI_HOME", project.home);
    const { client } = await AcpClient.open(project);
    const command = { command: process.execPath, args: [join(project.cwd, "server.mjs")] };
    const env = [{ name: "PLACE", value: "the editor" }];
    const { sessionId } = await client.newSession(project.cwd, [{ name: "my server", ...command, env }]);
    await client.prompt(sessionId, "greet");
    expect(JSON.stringify(client.of("tool_call_update").at(-1))).toContain("hello from the editor");
    await client.leave();
  });

  test("a server that the client passes by its address gets the headers, and gives its tools", async () => {
    const project = agentProject({
      contextWindow: 100_000,
      turn: [{ calls: [{ name: "mcp__remote__greet" }] }, { text: "Done." }],
    });
    vi.stubEnv("BONSAI_HOME", project.home);
    const http = createServer(async (request, response) => {
      if (request.method !== "POST") return response.writeHead(405).end();
      const { id, method, params } = (await json(request)) as Record<string, { protocolVersion?: string }>;
      if (id === undefined) return response.writeHead(202).end();
      const result = resultOf(String(method), params, `hello with ${request.headers["x-key"]}`);
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
    await once(http.listen(0, "127.0.0.1"), "listening");
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
    const { client } = await AcpClient.open(project);
    const headers = [{ name: "X-Key", value: "a key" }];
    const { sessionId } = await client.newSession(project.cwd, [
      { type: "http", name: "remote", url, headers },
    ]);
    await client.prompt(sessionId, "greet");
    expect(JSON.stringify(client.of("tool_call_update").at(-1))).toContain("hello with a key");
    await client.leave();
    http.closeAllConnections();
    http.close();
  });

  test("a server with the old transport SSE gives its tools", async () => {
    const project = agentProject({
      contextWindow: 100_000,
      turn: [{ calls: [{ name: "mcp__old__greet" }] }, { text: "Done." }],
    });
    vi.stubEnv("BONSAI_HOME", project.home);
    let events: ServerResponse | undefined;
    const http = createServer(async (request, response) => {
      if (request.method === "GET") {
        events = response.writeHead(200, { "content-type": "text/event-stream" });
        events.write("event: endpoint\ndata: /messages\n\n");
        return;
      }
      const { id, method, params } = (await json(request)) as Record<string, { protocolVersion?: string }>;
      response.writeHead(202).end();
      const result = resultOf(String(method), params, "hello over SSE");
      if (id !== undefined) events?.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`);
    });
    await once(http.listen(0, "127.0.0.1"), "listening");
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/sse`;
    const { client } = await AcpClient.open(project);
    const { sessionId } = await client.newSession(project.cwd, [
      { type: "sse", name: "old", url, headers: [] },
    ]);
    await client.prompt(sessionId, "greet");
    expect(JSON.stringify(client.of("tool_call_update").at(-1))).toContain("hello over SSE");
    expect(await client.leave()).toMatchObject({ code: 0, stderr: "" });
    http.closeAllConnections();
    http.close();
  });

  test("dialogs are permissions, and their answers reach the extension", () =>
    everyRow([
      ['told(await ctx.ui.select("Which?", ["one", "two"]))', '"one"', ["one", "two", "Cancel"]],
      [
        'told(await ctx.ui.confirm("Sure?", "Really."))',
        "true",
        ["Yes", "No", "Always allow in this session", "Always reject in this session"],
      ],
    ] as const)(async ([statement, answer, names]) => {
      const { client } = await AcpClient.open(does(statement), {
        argv: ["-e", "own.ts"],
        capabilities: { session: { notices: {} } },
      });
      const { sessionId } = await client.newSession();
      expect(await client.prompt(sessionId, "/do")).toEqual({ stopReason: "end_turn" });
      expect(client.of("notice").map(({ title }) => title)).toEqual([`told ${answer}`]);
      expect(client.permissions.map(({ options }) => options.map(({ name }) => name))).toEqual([names]);
      await client.leave();
    }));

  test("each thing that the editor cannot show is named once", async () => {
    const statement =
      'ctx.ui.setStatus("a", "1"); ctx.ui.setStatus("b", "2"); ctx.ui.setWidget("w", ["x"]); told(await ctx.ui.input("Name?"))';
    const { client } = await AcpClient.open(does(statement), {
      argv: ["-e", "own.ts"],
      capabilities: { session: { notices: {} } },
    });
    const { sessionId } = await client.newSession();
    await client.prompt(sessionId, "/do");
    expect(client.of("notice").map(({ title }) => title)).toEqual([
      expect.stringContaining("status texts"),
      expect.stringContaining("widgets"),
      expect.stringContaining("questions with a text field"),
      "told null",
    ]);
    await client.leave();
  });

  test("an extension cannot leave the session of the editor", async () => {
    const { client } = await AcpClient.open(does("told(await ctx.newSession())"), {
      argv: ["-e", "own.ts"],
      capabilities: { session: { notices: {} } },
    });
    const { sessionId } = await client.newSession();
    await client.prompt(sessionId, "/do");
    expect(client.of("notice")[0]?.title).toMatch(/cannot switch sessions/);
    expect(await client.prompt(sessionId, "still here")).toEqual({ stopReason: "end_turn" });
    await client.leave();
  });

  test("a command that fails is a protocol error, and the session continues", async () => {
    const { client } = await AcpClient.open(does('throw new Error("broken")'), { argv: ["-e", "own.ts"] });
    const { sessionId } = await client.newSession();
    await expect(client.prompt(sessionId, "/do")).rejects.toMatchObject({
      code: -32603,
      data: { code: "extension_command_failed" },
    });
    expect(await client.prompt(sessionId, "hi")).toEqual({ stopReason: "end_turn" });
    await client.leave();
  });
});
