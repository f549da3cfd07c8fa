import type { ThemeColor } from "./drawn-columns.ts";
import { plainLine, plainText } from "./foreign-text.ts";
import type { Logins } from "./logins.ts";
import {
  addressOf,
  counted,
  errorOutput,
  noServers,
  type OverviewParts,
  originOf,
  type ServerRow,
  serverRows,
  summaryLine,
  tokenCount,
  toolsOf,
} from "./overview.ts";
import type { McpServer } from "./server.ts";

/** What is done outside of the screen; it comes back to the server's page. */
export type ServerAction = "reconnect" | "login" | "logout" | "on" | "off" | "on in file" | "off in file";

/** A text in columns: what has no room is left out, the last first. */
export interface PageLine {
  columns: readonly { text: string; color?: ThemeColor; width?: number }[];
}

interface PageItem extends PageLine {
  /** Where it leads, or what it does. */
  leads: { page: Page } | { action: ServerAction; server: string };
}

/** A page by what it is of; what stands on it is made anew each time, for servers change. */
export type Page =
  | { of: "servers" }
  | { of: "server"; name: string }
  | { of: "tools" | "resources" | "prompts" | "errors"; name: string }
  | { of: "tool"; name: string; tool: string };

export interface PageContent {
  title: string;
  /** Above the items; wrapped. */
  text: readonly { text: string; color?: ThemeColor }[];
  items: readonly PageItem[];
}

export interface PageParts extends OverviewParts {
  logins: Pick<Logins, "canLogIn">;
}

export function pageContent(parts: PageParts, page: Page): PageContent {
  if (page.of === "servers") return serversPage(parts);
  const server = parts.servers.get(page.name);
  if (server === undefined)
    return { title: page.name, text: [{ text: "This server no longer exists." }], items: [] };
  switch (page.of) {
    case "server":
      return serverPage(parts, server);
    case "tools":
      return toolsPage(parts, server);
    case "tool":
      return toolPage(parts, server, page.tool);
    case "resources":
      return resourcesPage(server);
    case "prompts":
      return promptsPage(server);
    case "errors":
      return {
        title: `${server.name}: error output`,
        text: errorOutput(server).map((text) => ({ text })),
        items: [],
      };
  }
}

const stateColors: Readonly<Record<ServerRow["state"], ThemeColor>> = {
  ready: "success",
  connecting: "muted",
  failed: "error",
  "needs-login": "warning",
  disabled: "dim",
  closed: "muted",
};

function serversPage(parts: PageParts): PageContent {
  const rows = serverRows(parts);
  if (rows.length === 0) return { title: "MCP servers", text: [{ text: noServers }], items: [] };
  const width = Math.min(24, Math.max(...rows.map(({ name }) => name.length)));
  return {
    title: "MCP servers",
    text: [{ text: summaryLine(parts), color: parts.tools.isBySearch ? "warning" : "muted" }],
    items: rows.map((row) => ({
      columns: [
        { text: row.name, width },
        { text: row.stateWord, color: stateColors[row.state], width: 11 },
        { text: row.tools === 0 ? "" : counted(row.tools, "tool"), width: 9 },
        { text: row.tools === 0 ? "" : tokenCount(row.tokens), color: "muted", width: 15 },
        { text: row.origin, color: "dim" },
      ],
      leads: { page: { of: "server", name: row.name } },
    })),
  };
}

function serverPage(parts: PageParts, server: McpServer): PageContent {
  const { name, config } = server;
  const row = serverRows(parts).find((each) => each.name === name)!;
  const origin = originOf(server, parts.cwd);
  return {
    title: name,
    text: [
      { text: row.stateWord, color: stateColors[row.state] },
      { text: `${addressOf(server)}  (${origin})`, color: "muted" },
      ...(config.description === undefined ? [] : [{ text: plainLine(config.description) }]),
      ...(server.problem === undefined ? [] : [{ text: server.problem, color: "error" as const }]),
      ...(server.state === "failed" ? errorOutput(server) : [])
        .slice(-4)
        .map((text) => ({ text: `  ${text}`, color: "dim" as const })),
    ],
    items: [...offers(parts, server), ...actions(parts, server, origin)],
  };
}

function offers({ tools }: PageParts, server: McpServer): PageItem[] {
  const { name, resources, resourceTemplates, prompts } = server;
  const ofServer = toolsOf(tools, server);
  const tokens = ofServer.reduce((sum, each) => sum + each.tokens, 0);
  const lead = (of: "tools" | "resources" | "prompts" | "errors", text: string, about: string): PageItem => ({
    columns: [
      { text, width: 20 },
      { text: about, color: "muted" },
    ],
    leads: { page: { of, name } },
  });
  const listed = resources.length + resourceTemplates.length;
  return [
    ...(ofServer.length === 0
      ? []
      : [
          lead(
            "tools",
            counted(ofServer.length, "tool"),
            `${tokenCount(tokens)}${tools.isBySearch ? ", used through mcp_search" : ""}`,
          ),
        ]),
    ...(listed === 0 ? [] : [lead("resources", counted(listed, "resource"), `@${name}:…`)]),
    ...(prompts.length === 0 ? [] : [lead("prompts", counted(prompts.length, "prompt"), `/${name}:…`)]),
    ...(errorOutput(server).length === 0 ? [] : [lead("errors", "Error output", "the last lines")]),
  ];
}

function actions({ logins }: PageParts, server: McpServer, origin: string): PageItem[] {
  const { name, state, config } = server;
  const isOff = state === "disabled";
  const all: [ServerAction, string, boolean][] = [
    ["login", state === "needs-login" ? "Log in" : "Log in again", logins.canLogIn(server) && !isOff],
    ["logout", "Log out", logins.canLogIn(server) && state === "ready"],
    ["reconnect", state === "ready" ? "Reconnect" : "Connect", !isOff],
    ["on", "Turn on for this session", isOff],
    ["off", "Turn off for this session", !isOff],
    ["on in file", `Turn on in ${origin}`, !config.isEnabled],
    ["off in file", `Turn off in ${origin}`, config.isEnabled],
  ];
  return all
    .filter(([, , isThere]) => isThere)
    .map(([action, text]) => ({ columns: [{ text, color: "accent" }], leads: { action, server: name } }));
}

function toolsPage({ tools }: PageParts, server: McpServer): PageContent {
  const all = toolsOf(tools, server);
  const width = Math.min(36, Math.max(8, ...all.map(({ listed }) => plainLine(listed.name, 60).length)));
  return {
    title: `${server.name}: ${counted(all.length, "tool")}`,
    text: [],
    items: all.map(({ name, listed, tokens }) => ({
      columns: [
        { text: plainLine(listed.name, 60), width },
        { text: tokens.toLocaleString("en-US").padStart(6), color: "muted", width: 6 },
        { text: plainLine(listed.description || listed.title || "", 200), color: "dim" },
      ],
      leads: { page: { of: "tool", name: server.name, tool: name } },
    })),
  };
}

function toolPage({ tools }: PageParts, server: McpServer, name: string): PageContent {
  const tool = toolsOf(tools, server).find((each) => each.name === name);
  if (tool === undefined) return { title: name, text: [{ text: "This tool no longer exists." }], items: [] };
  const { listed, tokens } = tool;
  const claims = Object.entries(listed.annotations).filter(([, value]) => typeof value === "boolean");
  const schema = JSON.stringify(listed.inputSchema, null, 2).slice(0, 20_000);
  return {
    title: `${server.name}: ${plainLine(listed.name, 80)}`,
    text: [
      { text: `${name}, ${tokenCount(tokens)}`, color: "muted" },
      ...plainText(listed.description)
        .split("\n")
        .map((text) => ({ text })),
      ...(claims.length === 0
        ? []
        : [
            {
              text: `Declared by the server: ${claims.map(([key, value]) => `${plainLine(key, 40)} ${value}`).join(", ")}`,
              color: "muted" as const,
            },
          ]),
      ...schema.split("\n").map((text) => ({ text, color: "dim" as const })),
    ],
    items: [],
  };
}

function resourcesPage({ name, resources, resourceTemplates }: McpServer): PageContent {
  const all = [
    ...resources,
    ...resourceTemplates.map(({ uriTemplate, ...rest }) => ({ ...rest, uri: uriTemplate })),
  ];
  return {
    title: `${name}: ${counted(all.length, "resource")}`,
    text: all.flatMap(({ uri, name: title, description }) => [
      { text: `@${name}:${uri}` },
      {
        text: `  ${[title, description].filter((part) => part && part !== uri).join(": ")}`,
        color: "dim" as const,
      },
    ]),
    items: [],
  };
}

function promptsPage({ name, prompts }: McpServer): PageContent {
  return {
    title: `${name}: ${counted(prompts.length, "prompt")}`,
    text: prompts.flatMap((prompt) => [
      { text: `/${name}:${plainLine(prompt.name, 60)}` },
      ...(prompt.description === undefined
        ? []
        : [{ text: `  ${prompt.description}`, color: "dim" as const }]),
      ...prompt.arguments.map(({ name: argument, description = "", required }) => ({
        text: `  ${plainLine(argument, 60)}${required ? " *" : ""}  ${description}`,
        color: "dim" as const,
      })),
    ]),
    items: [],
  };
}
