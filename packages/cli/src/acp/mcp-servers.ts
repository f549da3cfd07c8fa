import type * as acp from "@agentclientprotocol/sdk";
import { shippedFolder } from "../call/first-party.ts";
import type { AgentCall } from "../call/invocation.ts";

/** The call with the extension that connects servers, if a client passes servers. */
export function withServers(call: AgentCall, servers: readonly acp.McpServer[]): AgentCall {
  const folder = servers.length === 0 ? undefined : shippedFolder("mcp");
  if (folder === undefined) return call;
  const named = (call.options.extension ?? []) as readonly string[];
  return { ...call, options: { ...call.options, extension: [...named, folder] } };
}

/** The servers in the format of `mcp.json`. */
export function serversJson(servers: readonly acp.McpServer[]): string {
  const entries = servers.map(({ name, ...server }) => [name.replaceAll(/[^\w-]/g, "_"), entryOf(server)]);
  return JSON.stringify({ mcpServers: Object.fromEntries(entries) });
}

type Unnamed<Server> = Server extends acp.McpServer ? Omit<Server, "name"> : never;

function entryOf(server: Unnamed<acp.McpServer>): object {
  if ("command" in server) {
    const { command, args, env } = server;
    return { command, args, env: pairs(env) };
  }
  const { type, url, headers } = server;
  return { type, url, headers: pairs(headers) };
}

function pairs(list: readonly { name: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(list.map(({ name, value }) => [name, value]));
}
