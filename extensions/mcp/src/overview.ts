import { homedir } from "node:os";
import { relative, sep } from "node:path";
import { plainLine, plainText } from "./foreign-text.ts";
import type { OfferedTool } from "./offered-tool.ts";
import type { McpServer, ServerState } from "./server.ts";
import type { McpServers } from "./servers.ts";
import type { McpTools } from "./tools.ts";

/** What `/mcp` is made of. */
export interface OverviewParts {
  servers: McpServers;
  tools: McpTools;
  cwd: string;
}

export const stateWords: Readonly<Record<ServerState, string>> = {
  ready: "ready",
  connecting: "connecting",
  failed: "failed",
  "needs-login": "needs login",
  disabled: "off",
  closed: "closed",
};

const urgency: readonly ServerState[] = [
  "failed",
  "needs-login",
  "connecting",
  "closed",
  "ready",
  "disabled",
];

export function originOf({ config: { file } }: McpServer, cwd: string): string {
  const fromCwd = relative(cwd, file);
  if (fromCwd !== "" && !fromCwd.startsWith("..")) return fromCwd;
  return file.startsWith(homedir() + sep) ? `~${file.slice(homedir().length)}` : file;
}

function toolsOf({ offered }: McpTools, server: McpServer): OfferedTool[] {
  return offered.filter((each) => each.server === server);
}

/** What all tools cost, and how the model gets them. */
export function summaryLine({ servers, tools }: OverviewParts): string {
  const count = tools.offered.length;
  const ready = servers.all.filter(({ state }) => state === "ready").length;
  const how = tools.isBySearch
    ? "(more than a tenth of the window, so the model searches for tools with mcp_search)"
    : "in each request";
  return `${ready} of ${counted(servers.all.length, "server")} ready · ${counted(count, "tool")}, ${tokenCount(tools.tokens)} ${how}`;
}

function tokenCount(tokens: number): string {
  return `~${tokens.toLocaleString("en-US")} tokens`;
}

function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}

export const noServers =
  'No MCP server is configured. Add one to ~/.bonsai/mcp.json or to .mcp.json in the project, then run /reload. Example: {"mcpServers": {"NAME": {"command": "…", "args": []}}}, or {"url": "https://…"} instead of command and args.';

/** The list of servers as text. */
export function overviewText(parts: OverviewParts): string {
  const rows = serverRows(parts);
  if (rows.length === 0) return noServers;
  const widest = Math.max(...rows.map(({ server }) => server.name.length));
  const lines = rows.map(
    ({ server, state, what, origin }) =>
      `${server.name.padEnd(widest)}  ${state.padEnd(11)}  ${what}  (${origin})`,
  );
  return [summaryLine(parts), ...lines].join("\n");
}

/** One row for each server. Servers that need attention come first. */
export function serverRows({ servers, tools, cwd }: OverviewParts) {
  return servers.all
    .toSorted((one, other) => urgency.indexOf(one.state) - urgency.indexOf(other.state))
    .map((server) => {
      const offered = toolsOf(tools, server);
      const hasTools = server.state === "ready" || server.state === "closed";
      return {
        server,
        state: stateWords[server.state],
        what: hasTools
          ? `${counted(offered.length, "tool")}, ${tokenCount(tokensOf(offered))}`
          : remedy(server),
        origin: originOf(server, cwd),
      };
    });
}

function tokensOf(tools: readonly OfferedTool[]): number {
  return tools.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** What is wrong, and what to do. */
function remedy(server: McpServer): string {
  switch (server.state) {
    case "needs-login":
      return `log in with /mcp login ${server.name}`;
    case "failed":
      return plainLine(server.problem ?? "");
    default:
      return "";
  }
}

/** Lines of the error output in the head of a failed server. */
const MAX_HEAD_ERROR_LINES = 4;

/** State, address and problem of one server. */
export function serverHead(server: McpServer, { cwd }: Pick<OverviewParts, "cwd">): string {
  const { config, state, problem } = server;
  return [
    `${server.name}: ${stateWords[state]}, ${addressOf(server)} (${originOf(server, cwd)})`,
    ...(config.description === undefined ? [] : [plainLine(config.description)]),
    ...(problem === undefined ? [] : [`Problem: ${problem}`]),
    ...(state === "failed" ? errorOutput(server).slice(-MAX_HEAD_ERROR_LINES) : []).map(
      (line) => `  ${line}`,
    ),
  ].join("\n");
}

/** All of one server as text. */
export function serverText(server: McpServer, { tools, cwd }: OverviewParts): string {
  const { resources, resourceTemplates, prompts } = server;
  const offered = toolsOf(tools, server);
  const part = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : ["", title, ...lines.map((line) => `  ${line}`)];
  return [
    serverHead(server, { cwd }),
    ...part(
      `Tools (${offered.length}, ${tokenCount(tokensOf(offered))}${tools.isBySearch ? ", used through mcp_search" : ""})`,
      offered.map(
        ({ name, tokens, listed }) => `${name}  ${tokenCount(tokens)}  ${plainLine(listed.description, 100)}`,
      ),
    ),
    ...part(
      `Resources (${resources.length})`,
      resources.map((each) => `@${server.name}:${each.uri}  ${each.name}`),
    ),
    ...part(
      `Resource templates (${resourceTemplates.length})`,
      resourceTemplates.map((each) => `@${server.name}:${each.uriTemplate}  ${each.name}`),
    ),
    ...part(
      `Prompts (${prompts.length})`,
      prompts.map(({ name, description = "" }) => `/${server.name}:${plainLine(name, 60)}  ${description}`),
    ),
    ...part("Error output", errorOutput(server)),
  ].join("\n");
}

/** Lines of the error output that are shown. */
const MAX_ERROR_LINES = 20;

/** The last lines that a program wrote to its standard error. */
function errorOutput({ stderrTail }: McpServer): string[] {
  const lines = plainText(stderrTail).trimEnd().split("\n");
  return lines.length === 1 && lines[0] === "" ? [] : lines.slice(-MAX_ERROR_LINES);
}

/** How it is reached, without what could be a key. */
function addressOf(server: McpServer): string {
  const { config } = server;
  if (config.type === "stdio")
    return plainLine(server.masked([config.command, ...config.args].join(" ")), 200);
  const { origin, pathname } = new URL(config.url);
  return plainLine(server.masked(`${origin}${pathname}`), 200);
}
