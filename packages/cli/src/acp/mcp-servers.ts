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
  const entries = servers.map(({ name, _meta, ...server }) => {
    const pairs = "command" in server ? { env: pairsOf(server.env) } : { headers: pairsOf(server.headers) };
    return [name.replaceAll(/[^\w-]/g, "_"), { ...server, ...pairs }];
  });
  return JSON.stringify({ mcpServers: Object.fromEntries(entries) });
}

function pairsOf(list: readonly { name: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(list.map(({ name, value }) => [name, value]));
}
