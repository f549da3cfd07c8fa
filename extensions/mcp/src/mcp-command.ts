import { BonsaiError, type ExtensionAPI, type ExtensionCommandContext } from "@bonsai-agent/extension";
import { hasLogin, type Logins } from "./logins.ts";
import {
  noServers,
  type OverviewParts,
  overviewText,
  serverHead,
  serverRows,
  serverText,
  stateText,
  summaryLine,
} from "./overview.ts";
import type { McpServer } from "./server.ts";

export interface McpCommandOptions {
  bonsai: Pick<ExtensionAPI, "registerCommand">;
  parts: Omit<OverviewParts, "cwd">;
  logins: Logins;
}

/** The text waits this long for servers that are connecting: it cannot change afterwards. */
const WAIT_MS = 10_000;

/** Words after `/mcp` that take the name of a server. */
const VERBS = ["login", "logout", "reconnect", "on", "off"] as const;

type Action = (typeof VERBS)[number] | "show";

/** `/mcp`, `/mcp NAME`, `/mcp login|logout|reconnect|on|off NAME`. */
export function registerMcpCommand(options: McpCommandOptions): void {
  const { bonsai, parts } = options;
  bonsai.registerCommand("mcp", {
    description: "Show MCP servers and their tools; login|logout|reconnect|on|off NAME",
    getArgumentCompletions(typed) {
      const [, verb = "", rest = ""] = /^(?:(\w+)\s+)?(\S*)$/.exec(typed) ?? [];
      if (verb !== "" && verbOf(verb) === undefined) return null;
      const names = parts.servers.all.map(({ name }) => name);
      const words = verb === "" ? [...names, ...VERBS] : names;
      return words
        .filter((word) => word.startsWith(rest))
        .map((word) => ({ value: verb === "" ? word : `${verb} ${word}`, label: word }));
    },
    async handler(args, ctx) {
      try {
        await run(options, args, ctx);
      } catch (error) {
        // Without a screen, the error fails the command.
        if (!BonsaiError.is(error) || ctx.mode !== "tui") throw error;
        ctx.ui.notify(`${error.message} ${error.hint}`, "warning");
      }
    },
  });
}

function verbOf(word: string): (typeof VERBS)[number] | undefined {
  return VERBS.find((verb) => verb === word);
}

async function run(options: McpCommandOptions, args: string, ctx: ExtensionCommandContext): Promise<void> {
  const { servers } = options.parts;
  const [first = "", second, ...more] = args.split(/\s+/).filter((word) => word !== "");
  const verb = verbOf(first);
  if (verb !== undefined && second !== undefined && more.length === 0)
    return act(options, verb, findServer(options, second), ctx);
  if (second !== undefined || (verb !== undefined && servers.get(first) === undefined))
    throw new BonsaiError({
      code: "mcp_command_invalid",
      message: `Unknown command: /mcp ${args}.`,
      hint: `Use /mcp, /mcp NAME, or /mcp ${VERBS.join("|")} NAME.`,
    });
  const server = first === "" ? undefined : findServer(options, first);
  if (ctx.mode === "tui") return choose(options, server, ctx);
  await servers.whenConnected(AbortSignal.timeout(WAIT_MS));
  const parts = { ...options.parts, cwd: ctx.cwd };
  ctx.ui.notify(server === undefined ? overviewText(parts) : serverText(server, parts));
}

function findServer({ parts: { servers } }: McpCommandOptions, name: string): McpServer {
  const server = servers.get(name);
  if (server !== undefined) return server;
  throw new BonsaiError({
    code: "mcp_server_unknown",
    message: `No MCP server is named ${name}.`,
    hint: `Configured servers: ${servers.all.map((each) => each.name).join(", ") || "none"}.`,
  });
}

/** A list of all servers, then a list of actions. Esc leads back to the servers. */
async function choose(
  options: McpCommandOptions,
  named: McpServer | undefined,
  ctx: ExtensionCommandContext,
): Promise<void> {
  for (;;) {
    const server = named ?? (await chooseServer({ ...options.parts, cwd: ctx.cwd }, ctx));
    if (server === undefined) return;
    const actions = actionsOf(server);
    const chosen = await ctx.ui.select(serverHead(server, ctx.cwd), [...actions.keys()]);
    const action = actions.get(chosen ?? "");
    if (action !== undefined) return act(options, action, server, ctx);
    if (named !== undefined) return;
  }
}

async function chooseServer(
  parts: OverviewParts,
  { ui }: ExtensionCommandContext,
): Promise<McpServer | undefined> {
  const rows = serverRows(parts);
  if (rows.size > 0)
    return rows.get((await ui.select(`MCP servers: ${summaryLine(parts)}`, [...rows.keys()])) ?? "");
  ui.notify(noServers);
  return undefined;
}

function actionsOf(server: McpServer): Map<string, Action> {
  const { state, config } = server;
  const isOff = state === "disabled";
  const canLogIn = hasLogin(config) && !isOff;
  const all: [label: string, action: Action, isOffered: boolean][] = [
    ["Show tools, resources, prompts and error output", "show", true],
    [state === "needs-login" ? "Log in" : "Log in again", "login", canLogIn],
    ["Log out", "logout", canLogIn && state === "ready"],
    [state === "ready" ? "Reconnect" : "Connect", "reconnect", !isOff],
    ["Turn on for this session", "on", isOff],
    ["Turn off for this session", "off", !isOff],
  ];
  return new Map(all.filter(([, , isOffered]) => isOffered).map(([label, action]) => [label, action]));
}

async function act(
  options: McpCommandOptions,
  action: Action,
  server: McpServer,
  ctx: ExtensionCommandContext,
): Promise<void> {
  await runAction(options, action, server, ctx);
  // The user wants the effect now, also if the provider's cache loses its prefix.
  if (action !== "show") options.parts.tools.release();
}

async function runAction(
  { logins, parts }: McpCommandOptions,
  action: Action,
  server: McpServer,
  ctx: ExtensionCommandContext,
): Promise<void> {
  const { name } = server;
  switch (action) {
    case "show":
      return ctx.ui.notify(serverText(server, { ...parts, cwd: ctx.cwd }));
    case "login":
      await logins.logIn(server, ctx);
      return ctx.ui.notify(`Logged in to ${name}: ${stateText(server)}`);
    case "logout": {
      const { wasIn, unrevoked } = await logins.logOut(server);
      if (!wasIn) return ctx.ui.notify(`You were not logged in to ${name}.`);
      if (unrevoked === undefined) return ctx.ui.notify(`Logged out of ${name}.`);
      const text = `Logged out of ${name}, but its tokens stay valid until they expire: ${unrevoked}`;
      return ctx.ui.notify(text, "warning");
    }
    case "reconnect":
      await server.reconnect();
      return ctx.ui.notify(`${name}: ${stateText(server)}`);
    case "on":
      await server.enable(true);
      return ctx.ui.notify(`Turned ${name} on for this session: ${stateText(server)}`);
    case "off":
      await server.enable(false);
      return ctx.ui.notify(`Turned ${name} off for this session.`);
  }
}
