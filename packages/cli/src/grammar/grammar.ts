import type { CommandGrammar, CommandGroup } from "./command-grammar.ts";
import { compactionCommands } from "./compaction-commands.ts";
import { hookCommands } from "./hook-commands.ts";
import { sessionCommands } from "./session-commands.ts";
import { setupCommands } from "./setup-commands.ts";
import { sharedCommands } from "./shared-commands.ts";

/** Other spellings of commands. They work the same, but no help shows them. */
export const aliases: readonly (readonly [alias: string, command: string])[] = [
  ["sessions", "session list"],
  ["show", "session show"],
  ["context", "session context"],
  ["tree", "session tree"],
  ["goto", "session goto"],
  ["fork", "session fork"],
  ["diff", "session diff"],
  ["merge", "session merge"],
  ["undo", "session undo"],
  ["redo", "session redo"],
  ["export", "session export"],
  ["import", "session import"],
  ["doctor", "session doctor"],
  ["install", "extension add"],
  ["list", "extension list"],
  ["remove", "extension remove"],
  ["uninstall", "extension remove"],
  ["update", "extension update"],
  ["logout", "login --forget"],
  ["lab tune", "lab --tune"],
];

export const commandGroups: readonly CommandGroup[] = [
  {
    name: "session",
    section: "Sessions",
    summary: "List, read, edit and repair sessions",
    examples: [["bonsai session list", "the latest sessions"]],
  },
  {
    name: "extension",
    section: "Setup",
    summary: "Add, list, remove and update extensions",
    examples: [["bonsai extension add mcp", "use MCP servers"]],
  },
  {
    name: "database",
    summary: "Prepare a database for shared sessions",
    examples: [["bonsai database init --database postgres://host/name", "prepare a database, once"]],
  },
  {
    name: "hook",
    summary: "Keep facts through the compactions of other agents",
    examples: [["bonsai hook install claude-code", "add the hook to Claude Code"]],
  },
];

/** All commands, in the order of `bonsai --help`. */
export const grammar: readonly CommandGrammar[] = [
  ...sessionCommands,
  ...sharedCommands,
  ...compactionCommands,
  ...setupCommands,
  ...hookCommands,
];
