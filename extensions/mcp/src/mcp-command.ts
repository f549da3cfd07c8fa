import { BonsaiError, type ExtensionAPI, type ExtensionCommandContext } from "@bonsai-agent/extension";
import type { Logins } from "./logins.ts";
import { overviewText, serverText, stateWords } from "./overview.ts";
import type { Page, PageParts, ServerAction } from "./screen-pages.ts";
import type { McpServer } from "./server.ts";
import { switchInFile } from "./server-switch.ts";

export interface McpCommandOptions {
  bonsai: Pick<ExtensionAPI, "registerCommand">;
  parts: Omit<PageParts, "cwd" | "logins">;
  logins: Logins;
}

/** So long the list waits for servers that connect, where it cannot change afterwards. */
const waitMs = 10_000;

/** By the word behind `/mcp`: what is done with the server that is named behind it. */
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
  if (ctx.mode === "tui")
    return show(options, server === undefined ? { of: "servers" } : pageOf(server), ctx);
  await servers.settled(AbortSignal.timeout(waitMs));
  const parts = { ...options.parts, cwd: ctx.cwd };
  ctx.ui.notify(server === undefined ? overviewText(parts) : serverText(server, parts));
}

function pageOf({ name }: McpServer): Page {
  return { of: "server", name };
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

/** The screen, until the user leaves it; what is done in between may ask questions of its own. */
async function show(options: McpCommandOptions, first: Page, ctx: ExtensionCommandContext): Promise<void> {
  const { McpScreen } = await import("./mcp-screen.ts");
  const { logins } = options;
  let page = first;
  for (;;) {
    const parts = { ...options.parts, cwd: ctx.cwd, logins };
    const chosen = await ctx.ui.custom<{ action: ServerAction; server: string } | undefined>(
      (tui, theme, keybindings, done) => new McpScreen({ parts, tui, theme, keybindings, done, page }),
    );
    const server = chosen && options.parts.servers.get(chosen.server);
    if (chosen === undefined || server === undefined) return;
    page = pageOf(server);
    await told(ctx, () => act(options, chosen.action, server, ctx));
  }
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
  { logins }: McpCommandOptions,
  action: ServerAction,
  server: McpServer,
  ctx: ExtensionCommandContext,
): Promise<void> {
  const { name, config } = server;
  switch (action) {
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
