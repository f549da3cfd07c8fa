import type { CommandGrammar } from "./command-grammar.ts";
import { extensionFlags } from "./flags.ts";

export const setupCommands: readonly CommandGrammar[] = [
  {
    name: "models",
    section: "Setup",
    summary: "List the models you can use",
    args: [["[search]", "words from a provider, id or name"]],
    options: [{ flags: "--all", description: "list all known models" }, ...extensionFlags],
    examples: [
      ["bonsai models", "the models you can use now, and where each key comes from"],
      ["bonsai models sonnet --all", "every known model with this name"],
      ["bonsai models --json | jq -r '.[] | .provider + \"/\" + .id'", "for a script"],
    ],
    load: async () => (await import("../commands/models.ts")).run,
  },
  {
    name: "login",
    section: "Setup",
    summary: "Log in to a provider or store its API key",
    args: [["[provider]", "a provider; default: list all providers and their state"]],
    options: [
      { flags: "--forget", description: "delete the stored key or login of the provider" },
      ...extensionFlags,
    ],
    examples: [
      ["bonsai login anthropic", "log in, or enter a key"],
      ["bonsai login", "list the providers and your logins"],
      ["bonsai login anthropic < key.txt", "store a key without showing it"],
      ["bonsai login --forget anthropic", "delete the stored key or login"],
      ["bonsai login corp -e ./corp.ts", "log in to a provider of an extension"],
    ],
    load: async () => (await import("../commands/login.ts")).run,
  },
  {
    name: "import-settings",
    summary: "Take over the models, keys and settings of pi",
    args: [["<program>", "pi"]],
    examples: [["bonsai import-settings pi", "read ~/.pi/agent, or the folder in PI_CODING_AGENT_DIR"]],
    load: async () => (await import("../commands/import.ts")).importSettings,
  },
  {
    name: "trust",
    section: "Setup",
    summary: "Allow a project's own settings and extensions",
    args: [["[folder]", "the project's folder; default: this one"]],
    options: [{ flags: "--untrust", description: "stop trusting the project" }],
    examples: [
      ["bonsai trust", "use the settings and extensions in .bonsai of this folder"],
      ["bonsai trust ../shop --untrust", "stop trusting another folder"],
    ],
    load: async () => (await import("../commands/trust.ts")).run,
  },
  {
    name: "mcp-server",
    summary: "Give other agents recall over all your sessions",
    args: [
      ["[action]", "install, remove or status; default: serve MCP on stdin and stdout"],
      ["[client]", "claude-code, codex, opencode, gemini, cursor or vscode"],
    ],
    options: [
      { flags: "--project", description: "change this folder's configuration instead of yours" },
      { flags: "--yes", description: "write without asking" },
    ],
    examples: [
      ["bonsai mcp-server install claude-code", "show the change, ask, and add the server"],
      ["bonsai mcp-server status", "list the clients that have the server"],
      ["bonsai mcp-server remove codex --yes", "remove the server without asking"],
    ],
    load: async () => (await import("../mcp-server/command.ts")).run,
  },
  {
    name: "extension add",
    summary: "Add a bundled extension, an npm package or your own file",
    args: [
      [
        "[source]",
        "mcp or another bundled name, npm:NAME, npm:NAME@VERSION, or a folder or module; default: list the bundled extensions",
      ],
    ],
    examples: [
      ["bonsai extension add", "list the bundled extensions"],
      ["bonsai extension add mcp", "use the servers of ~/.bonsai/mcp.json and .mcp.json"],
      ["bonsai extension add npm:NAME", "the newest version of a package; its scripts do not run"],
      ["bonsai extension add ./my-summary.ts", "your own module, loaded from where it is"],
    ],
    load: async () => (await import("../packages/add.ts")).add,
  },
  {
    name: "extension list",
    summary: "List packages and extensions, and their problems",
    args: [],
    examples: [["bonsai extension list", "the extensions that run in this folder, and where they come from"]],
    load: async () => (await import("../packages/list.ts")).run,
  },
  {
    name: "extension remove",
    summary: "Remove an added package",
    args: [["<package>", "its name, or the path that you added"]],
    examples: [["bonsai extension remove NAME", "stop its extensions; your own files stay"]],
    load: async () => (await import("../packages/update.ts")).remove,
  },
  {
    name: "extension update",
    summary: "Update added packages to their newest versions",
    args: [["[package]", "the name of one package; default: all"]],
    examples: [["bonsai extension update", "update all packages; to update bonsai itself, use npm"]],
    load: async () => (await import("../packages/update.ts")).update,
  },
];
