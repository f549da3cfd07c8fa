import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, test } from "vitest";
import { commandWords } from "../command-words.ts";
import { agentsHome } from "./agents-home.ts";

test("a client starts the server over stdio, calls a tool, and ends it by closing stdin", async () => {
  const { cwd, env, current } = agentsHome();
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...commandWords, "mcp-server"],
    env,
    cwd,
    stderr: "pipe",
  });
  let errors = "";
  transport.stderr?.on("data", (piece) => {
    errors += piece;
  });
  const client = new Client({ name: "claude-code", version: "2" });
  await client.connect(transport);
  const { content } = await client.callTool({ name: "recall", arguments: { query: "cobalt" } });
  expect((content[0] as { text: string }).text).toContain(`session ${current} (Claude Code`);
  const pid = transport.pid!;
  await client.close();
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  expect(errors).toBe("");
});
