import { extensionFlags, type OptionGrammar } from "../extensions/extension-flags.ts";

/** The flags of `bonsai [prompt…]`, in the order of the overview. */
export const agentFlags: readonly OptionGrammar[] = [
  { flags: "-p, --print", description: "print the answer and end" },
  {
    flags: "--mode <mode>",
    description: "text (default), json: one event a line, rpc: commands on standard input",
    choices: ["text", "json", "rpc"],
  },
  {
    flags: "-c, --continue",
    description: "go on with the latest session of this folder",
    conflicts: ["resume", "session", "fork"],
  },
  {
    flags: "-r, --resume [id]",
    description: "go on with a session; without an id, pick one",
    conflicts: ["session", "fork"],
  },
  { flags: "--session <session>", description: "go on with this session file or id", conflicts: ["fork"] },
  { flags: "--fork <session>", description: "go on in a copy of this session file or id" },
  { flags: "--leaf <id>", description: "with --fork: copy up to this entry" },
  {
    flags: "--no-session",
    description: "keep the session in memory; nothing is written",
  },
  { flags: "--model <provider/id>", description: "the model to work with" },
  { flags: "--thinking <level>", description: "off, minimal, low, medium, high or xhigh" },
  { flags: "--tools <names>", description: "offer the model only these tools, like read,grep" },
  { flags: "--no-tools", description: "offer the model no tools" },
  { flags: "--name <name>", description: "name the session" },
  { flags: "-q, --quiet", description: "say nothing on standard error but errors" },
  { flags: "--debug", description: "write what happens to the log folder" },
  ...extensionFlags,
];
