import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { onTestFinished } from "vitest";
import { RecallServer } from "../../src/mcp-server/server.ts";
import type { AgentsHome } from "./agents-home.ts";

export interface ToolAnswer {
  text: string;
  structured: Record<string, unknown> | undefined;
  isError: boolean;
}

export interface MemoryClient {
  client: Client;
  call(name: string, args?: Record<string, unknown>): Promise<ToolAnswer>;
}

interface Options extends Pick<AgentsHome, "cwd"> {
  env: Record<string, string>;
  /** Default: `claude-code`. */
  clientName?: string;
  /** Root folders of the client. Default: it has no roots. */
  roots?: readonly string[];
  isIndexed?: boolean;
}

/** A client of a server in this process. */
export async function memoryClient(options: Options): Promise<MemoryClient> {
  const { env, cwd, clientName = "claude-code", roots, isIndexed = false } = options;
  const server = new RecallServer({ io: { env, cwd, now: Date.now }, isIndexed });
  const client = new Client(
    { name: clientName, version: "1" },
    roots === undefined ? {} : { capabilities: { roots: {} } },
  );
  if (roots !== undefined)
    client.setRequestHandler("roots/list", () => ({ roots: roots.map((uri) => ({ uri })) }));
  const [near, far] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.mcp.connect(far), client.connect(near)]);
  onTestFinished(async () => {
    await client.close();
    server.close();
  });
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    const { content, structuredContent, isError } = await client.callTool({ name, arguments: args });
    const texts = (content as { text?: string }[]).map(({ text }) => text ?? "");
    return {
      text: texts.join("\n"),
      structured: structuredContent as Record<string, unknown> | undefined,
      isError: isError === true,
    };
  };
  return { client, call };
}
