import { existsSync } from "node:fs";
import { join } from "node:path";
import { isRecord } from "@bonsai-agent/messages";
import { parseConfig, userHome, withConfigValue } from "../call/agent-config.ts";
import type { CliIo } from "../call/io.ts";
import type { LaunchCommand } from "../call/launcher.ts";
import { parseToml, withTomlTable } from "./toml-table.ts";

/** The name of Bonsai's server in each configuration. */
const SERVER = "bonsai";

type Env = CliIo["env"];

/** A program that uses MCP servers. */
export interface McpClient {
  name: string;
  label: string;
  /** Its configuration file, of the user or of a project folder. */
  file(env: Env, project: string | undefined): string;
  /** The keys above the servers, by the file's content. */
  parent(config: Record<string, unknown>): readonly string[];
  entry(launch: LaunchCommand): Record<string, string | string[]>;
  isToml?: true;
  /** The user's next step. */
  next: string;
}

const mcpServers = () => ["mcpServers"];
const plainEntry = ({ command, args }: LaunchCommand) => ({ command, args });
const typedEntry = (launch: LaunchCommand) => ({ type: "stdio", ...plainEntry(launch) });

export const mcpClients: readonly McpClient[] = [
  {
    name: "claude-code",
    label: "Claude Code",
    file: (env, project) =>
      project === undefined
        ? join(env.CLAUDE_CONFIG_DIR || userHome(env), ".claude.json")
        : join(project, ".mcp.json"),
    parent: mcpServers,
    entry: typedEntry,
    next: "Start a new session of Claude Code, then run /mcp.",
  },
  {
    name: "codex",
    label: "Codex",
    file: (env, project) =>
      project === undefined
        ? join(env.CODEX_HOME || join(userHome(env), ".codex"), "config.toml")
        : join(project, ".codex/config.toml"),
    parent: () => ["mcp_servers"],
    entry: plainEntry,
    isToml: true,
    next: "Start a new session of Codex, then run /mcp. Codex reads a project's file only if you trust the project.",
  },
  {
    name: "opencode",
    label: "OpenCode",
    file: (env, project) =>
      firstFile(project ?? join(env.XDG_CONFIG_HOME || join(userHome(env), ".config"), "opencode"), [
        "opencode.jsonc",
        "opencode.json",
      ]),
    // OpenCode 2 has its servers one level deeper.
    parent: ({ mcp }) =>
      isRecord(mcp) && isRecord(mcp.servers) && mcp.servers.type === undefined ? ["mcp", "servers"] : ["mcp"],
    entry: ({ command, args }) => ({ type: "local", command: [command, ...args] }),
    next: "Restart OpenCode.",
  },
  {
    name: "gemini",
    label: "Gemini CLI",
    file: (env, project) => join(project ?? userHome(env), ".gemini/settings.json"),
    parent: mcpServers,
    entry: plainEntry,
    next: "Restart Gemini CLI, then run /mcp.",
  },
  {
    name: "cursor",
    label: "Cursor",
    file: (env, project) => join(project ?? userHome(env), ".cursor/mcp.json"),
    parent: mcpServers,
    entry: plainEntry,
    next: "Enable bonsai in Cursor's settings, under MCP.",
  },
  {
    name: "vscode",
    label: "VS Code",
    file: (env, project) =>
      project === undefined ? join(codeFolder(env), "mcp.json") : join(project, ".vscode/mcp.json"),
    parent: () => ["servers"],
    entry: typedEntry,
    next: "Run `MCP: List Servers` in VS Code, then start bonsai there.",
  },
];

/** The folder of VS Code's default profile. */
function codeFolder(env: Env): string {
  const home = userHome(env);
  if (process.platform === "win32") return join(env.APPDATA || join(home, "AppData/Roaming"), "Code/User");
  if (process.platform === "darwin") return join(home, "Library/Application Support/Code/User");
  return join(env.XDG_CONFIG_HOME || join(home, ".config"), "Code/User");
}

function firstFile(folder: string, names: readonly string[]): string {
  const files = names.map((name) => join(folder, name));
  return files.find((file) => existsSync(file)) ?? files.at(-1)!;
}

/** Bonsai's entry in a configuration; undefined without one. @throws BonsaiError `agent_config_unreadable` */
export function installedEntry(
  client: McpClient,
  text: string,
  file: string,
): Record<string, unknown> | undefined {
  const config = client.isToml ? parseToml(text, file) : parseConfig(text, file);
  const path = [...client.parent(config), SERVER];
  const entry = path.reduce<unknown>((at, key) => (isRecord(at) ? at[key] : undefined), config);
  return isRecord(entry) ? entry : undefined;
}

/** True if an entry starts this server, from this or an older installation. */
export function isOwnEntry(entry: Record<string, unknown>): boolean {
  return JSON.stringify([entry.command, entry.args]).includes('"mcp-server"');
}

/**
 * The configuration with Bonsai's entry, or without it. Other keys of the entry stay.
 * @returns undefined for a TOML file with the servers in an unusual form
 */
export function configWith(
  client: McpClient,
  { text, file }: { text: string; file: string },
  launch: LaunchCommand | undefined,
): string | undefined {
  const entry = launch && client.entry(launch);
  if (client.isToml) return withTomlTable(text, [client.parent({})[0]!, SERVER], entry);
  const path = [...client.parent(parseConfig(text, file)), SERVER];
  const known = installedEntry(client, text, file);
  if (entry === undefined || known === undefined) return withConfigValue(text, path, entry);
  const changed = Object.entries(entry).filter(
    ([key, value]) => JSON.stringify(known[key]) !== JSON.stringify(value),
  );
  return changed.reduce((now, [key, value]) => withConfigValue(now, [...path, key], value), text);
}
