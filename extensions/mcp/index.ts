import { bonsaiHome, type ExtensionAPI, type ExtensionContext } from "@bonsai-agent/extension";
import { readConfig } from "./src/config.ts";
import { McpServers } from "./src/servers.ts";
import { McpTools } from "./src/tools.ts";

/** Seconds that the first prompts wait for servers that connect; after that, tools come as they come. */
const usualWait = 5;

/** Tools, resources and prompts of MCP servers. */
export default function mcp(bonsai: ExtensionAPI): void {
  bonsai.registerFlag("mcp-wait", {
    type: "string",
    description: `How many seconds the first prompt waits for MCP servers that connect. Default: ${usualWait}`,
  });
  let context: ExtensionContext | undefined;
  const onNotice = (message: string) => context?.ui.notify(`MCP: ${message}`, "warning");
  const servers = new McpServers({ onNotice });
  const tools = new McpTools({
    bonsai,
    servers,
    contextWindow: () => context?.model?.contextWindow,
    onNotice,
  });
  let waitUntilMs = 0;

  servers.on(() => tools.update());
  bonsai.on("session_start", async (_event, ctx) => {
    context = ctx;
    const isProjectTrusted = ctx.isProjectTrusted();
    const config = readConfig({ cwd: ctx.cwd, home: bonsaiHome(), isProjectTrusted, env: process.env });
    for (const problem of config.problems) onNotice(problem);
    if (config.leftAside !== undefined)
      onNotice(`${config.leftAside} is left aside, for the project is not trusted: bonsai trust does that.`);
    waitUntilMs = performance.now() + waitSeconds(bonsai.getFlag("mcp-wait")) * 1_000;
    await servers.use(config);
  });
  bonsai.on("before_agent_start", async (_event, ctx) => {
    const leftMs = waitUntilMs - performance.now();
    if (leftMs <= 0) return;
    const limit = AbortSignal.timeout(Math.ceil(leftMs));
    await servers.settled(ctx.signal === undefined ? limit : AbortSignal.any([limit, ctx.signal]));
  });
  bonsai.on("model_select", () => tools.update());
  bonsai.on("session_shutdown", async ({ reason }) => {
    // Another session of this program goes on with the same servers.
    if (reason === "quit" || reason === "reload") await servers.close();
  });
}

function waitSeconds(said: unknown): number {
  const seconds = Number(said);
  return typeof said === "string" && said.trim() !== "" && seconds >= 0
    ? Math.min(seconds, 3_600)
    : usualWait;
}
