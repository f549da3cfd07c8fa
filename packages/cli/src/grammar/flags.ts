import type { OptionGrammar } from "./command-grammar.ts";

/** The flags of every command that runs extensions. */
export const extensionFlags: readonly OptionGrammar[] = [
  { flags: "-e, --extension <path>", description: "load an extension; repeatable", kind: "list" },
  { flags: "--no-extensions", description: "load only the extensions of -e" },
];

export const sessionDir: OptionGrammar = {
  flags: "--session-dir <folder>",
  description: "read and write sessions in this folder",
};

export const database: OptionGrammar = {
  flags: "--database <url>",
  description: "the PostgreSQL database; default: $BONSAI_DATABASE, or the setting sessions.store",
};

/** The flags of `bonsai [prompt…]`, in the order of `bonsai help flags`. */
export const agentFlags: readonly OptionGrammar[] = [
  { flags: "-p, --print", description: "print the answer and exit" },
  {
    flags: "--mode <mode>",
    description: "text (default), json (events), rpc, or acp for editors",
    choices: ["text", "json", "rpc", "acp"],
  },
  {
    flags: "-c, --continue",
    description: "continue the latest session of this folder",
    conflicts: ["resume", "session", "fork"],
  },
  {
    flags: "-r, --resume [session]",
    description: "resume a session (file or id), or choose one",
    conflicts: ["session", "fork"],
  },
  {
    flags: "--session <session>",
    description: "resume this session file or id",
    conflicts: ["fork"],
    hidden: true,
  },
  {
    flags: "--fork <session>",
    description: "continue in a copy; SESSION:ENTRY copies up to this entry",
  },
  { flags: "--leaf <id>", description: "with --fork: copy up to this entry", hidden: true },
  { flags: "--no-session", description: "write no session file" },
  sessionDir,
  { ...database, description: "keep the session in this PostgreSQL database" },
  {
    flags: "--model <provider/id>",
    description: "use this model; :high sets thinking",
  },
  { flags: "--provider <name>", description: "the provider of --model", hidden: true },
  { flags: "--models <names>", description: "models to cycle through, like a/b,c/d:high" },
  { flags: "--thinking <level>", description: "off, minimal, low, medium, high or xhigh" },
  {
    flags: "--api-key <key>",
    description: "the API key for --model, for this run only; never stored",
  },
  {
    flags: "--system-prompt <text>",
    description: "replace Bonsai's instructions; a text or a file",
    kind: "text or nothing",
  },
  {
    flags: "--append-system-prompt <text>",
    description: "add to the instructions; a text or a file; repeatable",
    kind: "list",
  },
  { flags: "--tools <names>", description: "offer only these tools, like read,grep; or none" },
  { flags: "--exclude-tools <names>", description: "do not offer these tools, like bash,write" },
  { flags: "--no-tools", description: "offer the model no tools", hidden: true },
  {
    flags: "--skill <path>",
    description: "load a skill or a folder of skills; repeatable",
    kind: "list",
  },
  { flags: "--no-skills", description: "load only the skills of --skill", hidden: true },
  {
    flags: "--prompt-template <path>",
    description: "load a prompt template or a folder of them; repeatable",
    kind: "list",
  },
  {
    flags: "--no-prompt-templates",
    description: "load only the prompt templates of --prompt-template",
    hidden: true,
  },
  {
    flags: "--theme <path>",
    description: "load a theme or a folder of themes; repeatable",
    kind: "list",
  },
  { flags: "--no-themes", description: "load only the themes of --theme", hidden: true },
  { flags: "--no-context-files", description: "load no AGENTS.md or CLAUDE.md" },
  { flags: "--approve", description: "trust this project for this run only" },
  { flags: "--offline", description: "connect only to the chosen model's server" },
  {
    flags: "--bare",
    description: "load no extensions, skills, prompt templates, themes or AGENTS.md",
  },
  { flags: "--name <name>", description: "name the session" },
  { flags: "--use-theme <name>", description: "the screen's theme, or two: light/dark", hidden: true },
  { flags: "-q, --quiet", description: "write only errors to stderr" },
  { flags: "--debug", description: "write a log to ~/.bonsai/logs" },
  ...extensionFlags,
];

export const session = ["<session>", "a session file, or the first characters of a session id"] as const;
export const entry = [
  "<entry>",
  "the first characters of an entry id; `bonsai session tree` lists them",
] as const;
export const leaf: OptionGrammar = {
  flags: "--leaf <id>",
  description: "use this entry instead of the current position",
};
/** Commands on files load no extensions on their own, so they do the same everywhere. */
export const onlyExtension: OptionGrammar = {
  flags: "-e, --extension <path>",
  description: "load an extension; no others run; repeatable",
  kind: "list",
};
export const focus: OptionGrammar = {
  flags: "--focus <text>",
  description: "a topic that the summary must cover",
  kind: "text or nothing",
};
export const digest: OptionGrammar = {
  flags: "--digest",
  description: "summarise without a model (default)",
  conflicts: ["model"],
};
export const summaryModel: OptionGrammar = {
  flags: "--model <provider/id>",
  description: "write the summary with this model",
};
export const redaction = (place = ""): readonly OptionGrammar[] => [
  { flags: "--redact", description: "replace stored keys and everything that looks like a key (default)" },
  { flags: "--no-redact", description: `${place}keep keys as they are` },
];
