import { bonsaiHome, type ExtensionAPI, type ExtensionContext } from "@bonsai-agent/extension";
import { readConfig } from "./src/config.ts";
import { Logins } from "./src/logins.ts";
import { registerMcpCommand } from "./src/mcp-command.ts";
import { withMentions } from "./src/mentions.ts";
import { registerMessages } from "./src/message-views.ts";
import { Prompts } from "./src/prompts.ts";
import { readMentions, resourceMessage, withResources } from "./src/resources.ts";
import { McpServers } from "./src/servers.ts";
import { McpTools } from "./src/tools.ts";
import { UserRequests } from "./src/user-requests.ts";

/** The first prompt waits this long for connecting servers. Later servers add their tools when they are ready. */
const DEFAULT_WAIT_SECONDS = 5;

/** Tools, resources and prompts of MCP servers. */
export default function mcp(bonsai: ExtensionAPI): void {
  bonsai.registerFlag("mcp-wait", {
    type: "string",
    description: `Seconds that the first prompt waits for MCP servers to connect. Default: ${DEFAULT_WAIT_SECONDS}`,
  });
  bonsai.registerFlag("mcp-config", {
    type: "string",
    description: "add the MCP servers of a file like mcp.json, or of JSON",
  });
  let context: ExtensionContext | undefined;
  const onNotice = (message: string) => context?.ui.notify(`MCP: ${message}`, "warning");
  const openBrowser = async (url: string) => (await import("@bonsai-agent/extension/login")).openBrowser(url);
  const requests = new UserRequests({ context: () => context, openBrowser });
  const logins = new Logins({ openBrowser });
  const servers = new McpServers({
    onNotice,
    onChange() {
      tools.update();
      prompts.update();
    },
    hooks: {
      auth: (server) => logins.authOf(server),
      clientHandlers: (client, server) => requests.attach(client, server),
    },
  });
  const prompts = new Prompts({ bonsai, servers });
  const tools = new McpTools({
    bonsai,
    servers,
    contextWindow: () => context?.model?.contextWindow,
    onNotice,
  });
  let waitMs = 0;
  let waitUntilMs = 0;

  registerMcpCommand({ bonsai, parts: { servers, tools }, logins });
  registerMessages(bonsai);
  /** Waits for connecting servers, in the first seconds of a session. */
  const waitForServers = async ({ signal, mode }: ExtensionContext) => {
    const leftMs = waitUntilMs - performance.now();
    if (leftMs > 0) {
      const limit = AbortSignal.timeout(Math.ceil(leftMs));
      await servers.whenConnected(signal === undefined ? limit : AbortSignal.any([limit, signal]));
    }
    // Without a screen, the first prompt may be the only one, so that late tools never arrive.
    if (mode !== "tui" && signal?.aborted !== true) servers.notifyLate(waitMs / 1_000);
  };
  bonsai.on("session_start", async (_event, ctx) => {
    // All sessions of this program share one editor.
    if (context === undefined) ctx.ui.addAutocompleteProvider((current) => withMentions(current, servers));
    context = ctx;
    const isProjectTrusted = ctx.isProjectTrusted();
    const given = bonsai.getFlag("mcp-config");
    const config = readConfig({
      ...{ cwd: ctx.cwd, home: bonsaiHome(), isProjectTrusted, env: process.env },
      ...(typeof given === "string" && { given }),
    });
    for (const problem of config.problems) onNotice(problem);
    waitMs = waitSeconds(bonsai.getFlag("mcp-wait")) * 1_000;
    waitUntilMs = performance.now() + waitMs;
    await servers.use(config);
    tools.release();
    // Without a user, the first text can be the only one, and a command of a server.
    if (ctx.mode === "print" || ctx.mode === "json") await waitForServers(ctx);
  });
  bonsai.on("input", async ({ text, images, streamingBehavior }, ctx) => {
    requests.newPrompt();
    const named = await readMentions(text, { servers, onNotice, signal: ctx.signal });
    if (named === undefined) return;
    if (streamingBehavior !== undefined)
      return { action: "transform", ...withResources(text, images, named) };
    // Follows the prompt that starts the next run.
    bonsai.sendMessage({ customType: resourceMessage, display: true, ...named }, { deliverAs: "nextTurn" });
  });
  bonsai.on("before_agent_start", async (_event, ctx) => waitForServers(ctx));
  tools.follow();
  bonsai.on("session_shutdown", async ({ reason }) => {
    // Another session of this program uses the same servers.
    if (reason === "quit" || reason === "reload") await servers.close();
  });
}

function waitSeconds(given: unknown): number {
  const seconds = Number(given);
  return typeof given === "string" && given.trim() !== "" && seconds >= 0
    ? Math.min(seconds, 3_600)
    : DEFAULT_WAIT_SECONDS;
}
