import type { CommandGrammar } from "./command-grammar.ts";
import { redaction } from "./flags.ts";

const agent = ["<agent>", "claude-code or codex"] as const;
const options = [
  { flags: "--project", description: "change the settings of this folder instead of yours" },
  { flags: "--yes", description: "write without asking" },
] as const;

export const hookCommands: readonly CommandGrammar[] = [
  {
    name: "hook install",
    summary: "Add the hook to an agent's settings",
    args: [agent],
    options,
    examples: [
      ["bonsai hook install claude-code", "show the change, ask, and write it with a backup"],
      ["bonsai hook install codex --yes", "write without asking"],
    ],
    load: async () => (await import("../hook/command.ts")).install,
  },
  {
    name: "hook remove",
    summary: "Remove the hook from an agent's settings",
    args: [agent],
    options,
    examples: [["bonsai hook remove claude-code", "restore the former settings"]],
    load: async () => (await import("../hook/command.ts")).remove,
  },
  {
    name: "hook status",
    summary: "Show where the hook is installed, its latest run and its latest error",
    args: [],
    examples: [["bonsai hook status", "the latest run, the added tokens and the latest error"]],
    load: async () => (await import("../hook/command.ts")).status,
  },
  {
    name: "hook preview",
    summary: "Show the text that the hook adds at each recorded compaction",
    args: [["<transcript>", "a transcript of Claude Code or Codex"]],
    options: redaction(),
    examples: [["bonsai hook preview session.jsonl", "one text for each compaction"]],
    load: async () => (await import("../hook/command.ts")).preview,
  },
  {
    name: "hook run",
    summary: "Answer one call from an agent's hook settings",
    args: [agent],
    examples: [["bonsai hook run codex < input.json", "the answer to a recorded call"]],
    load: async () => (await import("../hook/command.ts")).run,
  },
];
