import { homedir } from "node:os";
import { relative, sep } from "node:path";
import { plainLine } from "./foreign-text.ts";
import type { McpServer, ServerState } from "./server.ts";
import type { McpServers } from "./servers.ts";
import type { McpTools } from "./tools.ts";

/** Sources of the texts of `/mcp`. */
export interface OverviewParts {
  servers: McpServers;
  tools: McpTools;
  cwd: string;
}

/** States in words. The order is that of the list: servers that need attention come first. */
const stateWords: Readonly<Record<ServerState, string>> = {
  failed: "failed",
  "needs-login": "needs login",
  connecting: "connecting",
  closed: "closed",
  ready: "ready",
  disabled: "off",
};

/** State and problem of a server, as a sentence. */
export function stateText({ state, problem, lists }: McpServer): string {
  if (state === "ready") return `ready, ${plural(lists.tools.length, "tool")}.`;
  const word = stateWords[state];
  return problem === undefined ? `${word}.` : `${word}: ${problem}`;
}

/** The file of a server's entry, as short as possible. */
export function originOf({ config: { file } }: McpServer, cwd: string): string {
  const fromCwd = relative(cwd, file);
  if (fromCwd !== "" && !fromCwd.startsWith("..")) return fromCwd;
  return file.startsWith(homedir() + sep) ? `~${file.slice(homedir().length)}` : file;
}

/** Number and cost of tools: those of one server, or all. */
function toolCost({ offered }: McpTools, server?: McpServer): { count: string; tokens: string } {
  const tools = offered.filter((each) => server === undefined || each.server === server);
  const tokens = tools.reduce((sum, each) => sum + each.listed.tokens, 0);
  return { count: plural(tools.length, "tool"), tokens: tokenText(tokens) };
}

function tokenText(tokens: number): string {
  return `~${tokens.toLocaleString("en-US")} tokens`;
}

function plural(count: number, noun: string): string {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}

/** Cost of all tools, and how the model gets them. */
export function summaryLine({ servers, tools }: OverviewParts): string {
  const { count, tokens } = toolCost(tools);
  const ready = servers.all.filter(({ state }) => state === "ready").length;
  const how = tools.isBySearch
    ? "(more than a tenth of the window, so the model searches for tools with mcp_search)"
    : "in each request";
  return `${ready} of ${plural(servers.all.length, "server")} ready · ${count}, ${tokens} ${how}`;
}

export const noServers =
  'No MCP server is configured. Add one to ~/.bonsai/mcp.json or to .mcp.json in the project, then run /reload. Example: {"mcpServers": {"NAME": {"command": "…", "args": []}}}, or {"url": "https://…"} instead of command and args.';

export function overviewText(parts: OverviewParts): string {
  const rows = serverRows(parts);
  return rows.size === 0 ? noServers : [summaryLine(parts), ...rows.keys()].join("\n");
}

/** The servers by their rows: name, state, cost or remedy, and file. */
export function serverRows({ servers, tools, cwd }: OverviewParts): Map<string, McpServer> {
  const order = Object.keys(stateWords);
  const sorted = servers.all.toSorted((one, other) => order.indexOf(one.state) - order.indexOf(other.state));
  return new Map(
    sorted.map((server) => {
      const { name, state, problem = "" } = server;
      const { count, tokens } = toolCost(tools, server);
      const isKnown = state === "ready" || state === "closed";
      const remedy = state === "needs-login" ? `log in with /mcp login ${name}` : problem;
      const row = [name, stateWords[state], isKnown ? `${count}, ${tokens}` : remedy, originOf(server, cwd)];
      return [row.filter((part) => part !== "").join(" · "), server];
    }),
  );
}

/** Lines of the error output in the head of a failed server, and in the text of a server. */
const MAX_HEAD_ERROR_LINES = 4;
const MAX_ERROR_LINES = 20;

/** State, address and problem of one server. */
export function serverHead(server: McpServer, cwd: string): string {
  const { name, config, state, problem } = server;
  const output = state === "failed" ? errorOutput(server, MAX_HEAD_ERROR_LINES) : [];
  return [
    `${name}: ${stateWords[state]}, ${addressOf(server)} (${originOf(server, cwd)})`,
    ...(config.description === undefined ? [] : [plainLine(config.description)]),
    ...(problem === undefined ? [] : [`Problem: ${problem}`]),
    ...output.map((line) => `  ${line}`),
  ].join("\n");
}

export function serverText(server: McpServer, { tools, cwd }: OverviewParts): string {
  const { name: own, lists } = server;
  const { resources, templates, prompts } = lists;
  const offered = tools.offered.filter((each) => each.server === server);
  const way = tools.isBySearch ? ", used through mcp_search" : "";
  const parts: [title: string, lines: readonly string[]][] = [
    [
      `Tools (${offered.length}, ${toolCost(tools, server).tokens}${way})`,
      offered.map(
        ({ name, listed }) => `${name}  ${tokenText(listed.tokens)}  ${plainLine(listed.description, 100)}`,
      ),
    ],
    [`Resources (${resources.length})`, resources.map(({ uri, name }) => `@${own}:${uri}  ${name}`)],
    [
      `Resource templates (${templates.length})`,
      templates.map(({ uriTemplate, name }) => `@${own}:${uriTemplate}  ${name}`),
    ],
    [
      `Prompts (${prompts.length})`,
      prompts.map(({ name, description = "" }) => `/${own}:${plainLine(name, 60)}  ${description}`),
    ],
    ["Error output", errorOutput(server, MAX_ERROR_LINES)],
  ];
  const shown = parts.filter(([, lines]) => lines.length > 0);
  return [
    serverHead(server, cwd),
    ...shown.flatMap(([title, lines]) => ["", title, ...lines.map((line) => `  ${line}`)]),
  ].join("\n");
}

function errorOutput({ stderrTail }: McpServer, maxLines: number): string[] {
  const text = stderrTail.trimEnd();
  return text === "" ? [] : text.split("\n").slice(-maxLines);
}

/** The command or address, without anything that could be a key. */
function addressOf(server: McpServer): string {
  const { config } = server;
  if (config.type === "stdio")
    return plainLine(server.masked([config.command, ...config.args].join(" ")), 200);
  const { origin, pathname } = new URL(config.url);
  return plainLine(server.masked(`${origin}${pathname}`), 200);
}
