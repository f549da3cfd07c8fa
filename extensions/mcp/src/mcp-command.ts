import { BonsaiError, type ExtensionAPI, type ExtensionCommandContext } from "@bonsai-agent/extension";
import type { Logins } from "./logins.ts";
import {
  noServers,
  type OverviewParts,
  originOf,
  overviewText,
  serverHead,
  serverRows,
  serverText,
  stateWords,
  summaryLine,
} from "./overview.ts";
import type { McpServer } from "./server.ts";
import { switchInFile } from "./server-switch.ts";

export interface McpCommandOptions {
  bonsai: Pick<ExtensionAPI, "registerCommand">;
  parts: Omit<OverviewParts, "cwd">;
  logins: Logins;
}

/** The text waits this long for servers that are connecting: it cannot change afterwards. */
const WAIT_MS = 10_000;

type ServerAction = "show" | "reconnect" | "login" | "logout" | "on" | "off" | "on in file" | "off in file";

/** Words after `/mcp` that take the name of a server. */
const verbs = {
  login: "login",
  logout: "logout",
  reconnect: "reconnect",
  on: "on",
  off: "off",
} as const satisfies Record<string, ServerAction>;

/** `/mcp`, `/mcp NAME`, `/mcp login|logout|reconnect|on|off NAME`. */
export function registerMcpCommand(options: McpCommandOptions): void {
  const { bonsai, parts } = options;
  const names = () => parts.servers.all.map(({ name }) => name);
  bonsai.registerCommand("mcp", {
    description: "Show MCP servers and their tools; login|logout|reconnect|on|off NAME",
    getArgumentCompletions(typed) {
      const [, verb = "", rest = ""] = /^(?:(\w+)\s+)?(\S*)$/.exec(typed) ?? [];
      if (verb !== "" && !Object.hasOwn(verbs, verb)) return null;
      const words = verb === "" ? [...names(), ...Object.keys(verbs)] : names();
      return words
        .filter((word) => word.startsWith(rest))
        .map((word) => ({ value: verb === "" ? word : `${verb} ${word}`, label: word }));
    },
    handler: (args, ctx) => told(ctx, () => run(options, args, ctx)),
  });
}

async function run(options: McpCommandOptions, args: string, ctx: ExtensionCommandContext): Promise<void> {
  const { servers } = options.parts;
  const [first = "", second, ...more] = args.split(/\s+/).filter((word) => word !== "");
  const verb = Object.hasOwn(verbs, first) ? verbs[first as keyof typeof verbs] : undefined;
  if (verb !== undefined && second !== undefined && more.length === 0)
    return act(options, verb, named(options, second), ctx);
  if (verb !== undefined && servers.get(first) === undefined) throw wrongUse(args);
  if (second !== undefined) throw wrongUse(args);
  const server = first === "" ? undefined : named(options, first);
  if (ctx.mode === "tui") return choose(options, server, ctx);
  await servers.settled(AbortSignal.timeout(WAIT_MS));
  const parts = { ...options.parts, cwd: ctx.cwd };
  ctx.ui.notify(server === undefined ? overviewText(parts) : serverText(server, parts));
}

function named({ parts: { servers } }: McpCommandOptions, name: string): McpServer {
  const server = servers.get(name);
  if (server !== undefined) return server;
  throw new BonsaiError({
    code: "mcp_server_unknown",
    message: `No MCP server is named ${name}.`,
    hint: `Configured servers: ${servers.all.map((each) => each.name).join(", ") || "none"}.`,
  });
}

function wrongUse(args: string): BonsaiError {
  return new BonsaiError({
    code: "mcp_command_invalid",
    message: `Unknown command: /mcp ${args}.`,
    hint: `Use /mcp, /mcp NAME, or /mcp ${Object.keys(verbs).join("|")} NAME.`,
  });
}

/** A list of all servers, then a list of actions. Esc leads back to the servers. */
async function choose(
  options: McpCommandOptions,
  named: McpServer | undefined,
  ctx: ExtensionCommandContext,
): Promise<void> {
  const parts = { ...options.parts, cwd: ctx.cwd };
  for (;;) {
    const server = named ?? (await chooseServer(parts, ctx));
    if (server === undefined) return;
    const actions = actionsOf(server, options.logins, parts);
    const chosen = await ctx.ui.select(serverHead(server, parts), [...actions.keys()]);
    const action = chosen === undefined ? undefined : actions.get(chosen);
    if (action !== undefined) return act(options, action, server, ctx);
    if (named !== undefined) return;
  }
}

async function chooseServer(
  parts: OverviewParts,
  { ui }: ExtensionCommandContext,
): Promise<McpServer | undefined> {
  const lines = new Map(
    serverRows(parts).map(({ server, state, what, origin }) => [
      [server.name, state, what, origin].filter((part) => part !== "").join(" · "),
      server,
    ]),
  );
  if (lines.size > 0)
    return lines.get((await ui.select(`MCP servers: ${summaryLine(parts)}`, [...lines.keys()])) ?? "");
  ui.notify(noServers);
  return undefined;
}

/** Actions by their labels. */
function actionsOf(server: McpServer, logins: Logins, { cwd }: OverviewParts): Map<string, ServerAction> {
  const { state, config } = server;
  const isOff = state === "disabled";
  const canLogIn = logins.canLogIn(server) && !isOff;
  const file = originOf(server, cwd);
  const all: [label: string, action: ServerAction, isOffered: boolean][] = [
    ["Show tools, resources, prompts and error output", "show", true],
    [state === "needs-login" ? "Log in" : "Log in again", "login", canLogIn],
    ["Log out", "logout", canLogIn && state === "ready"],
    [state === "ready" ? "Reconnect" : "Connect", "reconnect", !isOff],
    ["Turn on for this session", "on", isOff],
    ["Turn off for this session", "off", !isOff],
    [`Turn on in ${file}`, "on in file", !config.isEnabled],
    [`Turn off in ${file}`, "off in file", config.isEnabled],
  ];
  return new Map(all.filter(([, , isOffered]) => isOffered).map(([label, action]) => [label, action]));
}

/** On a screen, what cannot be done is told in the user's words; elsewhere it fails the command. */
async function told(ctx: ExtensionCommandContext, task: () => Promise<void>): Promise<void> {
  try {
    await task();
  } catch (error) {
    if (!BonsaiError.is(error) || ctx.mode !== "tui") throw error;
    ctx.ui.notify(`${error.message} ${error.hint}`, "warning");
  }
}

async function act(
  { logins, parts }: McpCommandOptions,
  action: ServerAction,
  server: McpServer,
  ctx: ExtensionCommandContext,
): Promise<void> {
  const { name, config } = server;
  switch (action) {
    case "show":
      return ctx.ui.notify(serverText(server, { ...parts, cwd: ctx.cwd }));
    case "login":
      await logins.logIn(server, ctx);
      return ctx.ui.notify(`Logged in to ${name}: ${stateOf(server)}`);
    case "logout": {
      const { wasIn, unrevoked } = await logins.logOut(server);
      if (!wasIn) return ctx.ui.notify(`You were not logged in to ${name}.`);
      if (unrevoked === undefined) return ctx.ui.notify(`Logged out of ${name}.`);
      return ctx.ui.notify(
        `Logged out of ${name}, but its tokens stay valid until they expire: ${unrevoked}`,
        "warning",
      );
    }
    case "reconnect":
      await server.reconnect();
      return ctx.ui.notify(`${name}: ${stateOf(server)}`);
    case "on":
    case "off":
      await server.enable(action === "on");
      return ctx.ui.notify(
        action === "on"
          ? `Turned ${name} on for this session: ${stateOf(server)}`
          : `Turned ${name} off for this session.`,
      );
    default: {
      const isOn = action === "on in file";
      await switchInFile(config, isOn);
      await server.enable(isOn);
      return ctx.ui.notify(`Turned ${name} ${isOn ? "on" : "off"} in ${config.file}.`);
    }
  }
}

function stateOf({ state, problem, tools }: McpServer): string {
  if (state === "ready") return `ready, ${tools.length} ${tools.length === 1 ? "tool" : "tools"}.`;
  const word = stateWords[state];
  return problem === undefined ? `${word}.` : `${word}: ${problem}`;
}
