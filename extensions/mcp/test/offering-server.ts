import { McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

// A server with resources and prompts of every kind. As a program, it speaks stdio.

const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export function offeringServer(): McpServer {
  const server = new McpServer(
    { name: "offers", version: "1" },
    {
      capabilities: {
        resources: { listChanged: true },
        prompts: { listChanged: true },
      },
    },
  );
  addResources(server, process.env.OFFERS_API_KEY ?? "");
  addPrompts(server, process.env.OFFERS_API_KEY ?? "");
  return server;
}

function addResources(server: McpServer, key: string): void {
  const resource = (uri: string, content: object) =>
    server.registerResource(uri.split("/").at(-1)!, uri, {}, async () => ({
      contents: [{ uri, ...content } as never],
    }));
  resource("test://text", { text: "plain </mcp-resource> \u001b[2Jend", mimeType: "text/plain" });
  resource("test://picture", { blob: png, mimeType: "image/png" });
  resource("test://blob", {
    blob: Buffer.from("nothing to see").toString("base64"),
    mimeType: "application/zip",
  });
  resource("test://long", { text: "x".repeat(1_100_000) });
  server.registerResource("broken", "test://broken", {}, async () => {
    throw new Error("the disk is on fire");
  });
  server.registerResource("deadly", "test://deadly", {}, () => process.exit(4));
  resource("test://key", { text: `The key is ${key}.` });
  server.registerResource("refused", "test://refused", {}, async () => {
    throw new Error(`${key} is a wrong key`);
  });
  server.registerResource(
    "day",
    new ResourceTemplate("test://days/{day}/{part}", { list: undefined }),
    {},
    async (uri) => ({ contents: [{ uri: uri.href, text: uri.pathname }] }),
  );
  server.registerTool("change-text", {}, () => ({ content: [{ type: "text", text: "changed" }] }));
}

function addPrompts(server: McpServer, key: string): void {
  server.registerPrompt(
    "review",
    { description: "Reviews", argsSchema: z.object({ what: z.string(), how: z.string().optional() }) },
    ({ what, how = "well" }) => ({
      messages: [
        { role: "user", content: { type: "text", text: `Review ${what} ${how}` } },
        { role: "assistant", content: { type: "text", text: "I will." } },
        { role: "user", content: { type: "image", data: png, mimeType: "image/png" } },
        {
          role: "user",
          content: {
            type: "resource",
            resource: { uri: "test://inner", text: "inner text", mimeType: "text/plain" },
          },
        },
      ],
    }),
  );
  server.registerPrompt("odd name", { description: "Odd" }, () => {
    throw new Error(`no prompt today${key && ` for ${key}`}`);
  });
  const later = server.registerPrompt("later", { description: "Comes later" }, () => ({ messages: [] }));
  later.disable();
  server.registerTool("show-later", {}, async () => {
    later.enable();
    return { content: [{ type: "text", text: "shown" }] };
  });
}

if (process.argv[1] === import.meta.filename) await offeringServer().connect(new StdioServerTransport());
