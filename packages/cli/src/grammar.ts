import type { ExitCode, Invocation } from "@bonsai-agent/app/invocation";

/** Runs one call of a command. Returns the exit code; nothing means done. */
type Command = (invocation: Invocation) => Promise<ExitCode | undefined>;

/** The grammar of one command. */
export interface CommandGrammar {
  readonly name: string;
  /** One line for the overview. */
  readonly summary: string;
  /** `<required>` and `[optional]`, with what each is. */
  readonly args: readonly (readonly [syntax: string, description: string])[];
  readonly options?: readonly OptionGrammar[];
  /** Commands that work as they stand, with what they do. */
  readonly examples: readonly (readonly [command: string, effect: string])[];
  load(): Promise<Command>;
}

/**
 * One flag; `kind` says how its value is read (default: as text that is not empty); a "list" has the values of all its
 * occurrences.
 */
export interface OptionGrammar {
  readonly flags: string;
  readonly description: string;
  readonly kind?: "tokens" | "count" | "text or nothing" | "list";
  /** The only values that are allowed. */
  readonly choices?: readonly string[];
  /** Flags that cannot stand beside this one. */
  readonly conflicts?: readonly string[];
}

/** The flags of every command that runs extensions. */
const extensionFlags: readonly OptionGrammar[] = [
  { flags: "-e, --extension <path>", description: "load an extension; may be repeated", kind: "list" },
  { flags: "--no-extensions", description: "load no extensions but those of -e" },
];

const sessionDir: OptionGrammar = {
  flags: "--session-dir <folder>",
  description: "find sessions in this folder, and make new ones there",
};

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
  sessionDir,
  {
    flags: "--model <provider/id>",
    description: "the model to work with; a level of thinking may follow, as :high",
  },
  { flags: "--provider <name>", description: "the provider of the model that --model names" },
  { flags: "--models <names>", description: "the models that a key goes through, like a/b,c/d:high" },
  { flags: "--thinking <level>", description: "off, minimal, low, medium, high or xhigh" },
  {
    flags: "--system-prompt <text>",
    description: "in place of Bonsai's own instructions; a text, or the file that has it",
    kind: "text or nothing",
  },
  {
    flags: "--append-system-prompt <text>",
    description: "behind the instructions; a text, or the file that has it; may be repeated",
    kind: "list",
  },
  { flags: "--tools <names>", description: "offer the model only these tools, like read,grep" },
  { flags: "--no-tools", description: "offer the model no tools" },
  {
    flags: "--skill <path>",
    description: "bring a skill, or a folder of them; may be repeated",
    kind: "list",
  },
  { flags: "--no-skills", description: "bring no skills but those of --skill" },
  {
    flags: "--prompt-template <path>",
    description: "bring a prompt template, or a folder of them; may be repeated",
    kind: "list",
  },
  { flags: "--no-prompt-templates", description: "bring no prompt templates but those of --prompt-template" },
  {
    flags: "--theme <path>",
    description: "bring a theme, or a folder of them; may be repeated",
    kind: "list",
  },
  { flags: "--no-themes", description: "bring no themes but those of --theme" },
  { flags: "--name <name>", description: "name the session" },
  { flags: "--use-theme <name>", description: "the colours of the interactive mode; two as light/dark" },
  { flags: "-q, --quiet", description: "say nothing on standard error but errors" },
  { flags: "--debug", description: "write what happens to the log folder" },
  ...extensionFlags,
];

const session = ["<session>", "a session file, or the id of a session (its beginning will do)"] as const;
const entry = ["<entry>", "the id of an entry (its beginning will do); `bonsai tree` lists them"] as const;
const leaf: OptionGrammar = {
  flags: "--leaf <id>",
  description: "stand at this entry instead of the current position",
};
/** A command on a file does the same wherever it runs: of the extensions that sessions have, none is loaded. */
const onlyExtension: OptionGrammar = {
  flags: "-e, --extension <path>",
  description: "ask this extension, and no others; may be repeated",
  kind: "list",
};

/** All commands, in the order of the overview. The only place that knows their words. */
export const grammar: readonly CommandGrammar[] = [
  {
    name: "sessions",
    summary: "List recorded sessions, newest first",
    args: [],
    options: [
      { flags: "--cwd <folder>", description: "only sessions that worked in this folder" },
      { ...sessionDir, description: "the sessions that lie in this folder" },
      { flags: "-n, --limit <count>", description: "at most so many", kind: "count" },
    ],
    examples: [
      ["bonsai sessions", "what was worked on lately"],
      ["bonsai sessions --cwd . --json", "the sessions of this folder, for a script"],
    ],
    load: async () => (await import("./commands/sessions.ts")).run,
  },
  {
    name: "show",
    summary: "Show a session: counts, tokens, cost, files, branches, latest compaction",
    args: [session],
    options: [
      {
        flags: "--sources",
        description: "the lines of the latest summary, each with the entries it rests on",
      },
      { flags: "--entry <id>", description: "with --sources: of this compaction or branch summary" },
    ],
    examples: [
      ["bonsai show session.jsonl", "a session file at a glance"],
      ["bonsai show 3f2a --json", "the same of a recorded session, for a script"],
      ["bonsai show session.jsonl --sources", "where each line of the summary comes from"],
    ],
    load: async () => (await import("./commands/show.ts")).run,
  },
  {
    name: "lab",
    summary: "Play recorded sessions again under other policies of compaction",
    args: [
      [
        "[sessions...]",
        "sessions, other agents' transcripts, or folders of them, and before them perhaps the word tune: then better settings are looked for; default: the latest session of this folder",
      ],
    ],
    options: [
      {
        flags: "--policy <policy>",
        description: "pi, bonsai+auto, pi+64k, …, or a file with settings; several are compared",
        kind: "list",
      },
      {
        flags: "--summaries <whose>",
        description: "digest (default), or recorded: those of the session, where it has one about there",
      },
      {
        flags: "--model <provider/id>",
        description: "has this model write the summaries, once its price was shown and accepted",
      },
      { flags: "--yes", description: "with --model: accepts the price" },
      {
        flags: "-o, --output <file>",
        description: "writes the table and the charts as a page (.html)",
      },
      { flags: "--all", description: "all sessions of this folder" },
      {
        flags: "--window <tokens>",
        description: "the model's window; default: that of the recorded model",
        kind: "tokens",
      },
      {
        flags: "--loss <share>",
        description: "with tune: so much less of what is needed may be in view; default: 0.02",
      },
    ],
    examples: [
      [
        "bonsai lab tune --all",
        "settings to paste, with what they save on days that they were not trained on",
      ],
      ["bonsai lab session.jsonl", "your settings and every preset: what each would have cost, and lost"],
      ["bonsai lab session.jsonl --policy pi --policy bonsai+auto --policy bonsai+64k", "three policies"],
    ],
    load: async () => (await import("./commands/lab.ts")).run,
  },
  {
    name: "context",
    summary: "Show what the model sees, item by item",
    args: [session],
    options: [leaf],
    examples: [
      ["bonsai context session.jsonl", "each item with its tokens"],
      ["bonsai context session.jsonl --leaf 0000010c", "the context at an earlier place"],
      ["bonsai context session.jsonl --json | jq '.[0].message'", "the first message that the model sees"],
    ],
    load: async () => (await import("./commands/context.ts")).run,
  },
  {
    name: "tree",
    summary: "Show the branches of a session, the active one first",
    args: [session],
    options: [{ flags: "--all", description: "one line for each entry; nothing is folded" }],
    examples: [
      ["bonsai tree session.jsonl", "the branches, long runs folded"],
      ["bonsai tree session.jsonl --all | less", "every entry"],
    ],
    load: async () => (await import("./commands/tree.ts")).run,
  },
  {
    name: "search",
    summary: "Find entries by their text",
    args: [
      ["[session]", `${session[1]}; not with --all`],
      ["[query]", "text to look for, in any case; with --all words, and phrases in double quotes"],
    ],
    options: [
      { flags: "-n, --limit <count>", description: "at most so many; default 50", kind: "count" },
      { flags: "--regex", description: "read the query as a regular expression" },
      {
        flags: "--all",
        description: "search all recorded sessions, best hits first",
        conflicts: ["regex"],
      },
      { flags: "--cwd <folder>", description: "with --all: only sessions that worked in this folder" },
    ],
    examples: [
      ["bonsai search session.jsonl 'rate limit'", "where rate limits were spoken of"],
      ["bonsai search --all 'redis \"rate limit\"'", "the entries of all sessions that have both"],
    ],
    load: async () => (await import("./commands/search.ts")).run,
  },
  {
    name: "goto",
    summary: "Move to another place in the tree, as /tree does",
    args: [session, entry],
    options: [
      { flags: "--summarize", description: "take a summary of the branch that is left along" },
      {
        flags: "--focus <text>",
        description: "what that summary should dwell on",
        kind: "text or nothing",
      },
      { flags: "--model <provider/id>", description: "with --summarize: let this model summarise" },
      { flags: "--label <text>", description: "a label for the summary, else for the entry" },
      onlyExtension,
    ],
    examples: [
      ["bonsai goto session.jsonl 0000010c", "go back to an entry"],
      ["bonsai goto session.jsonl 0000010c --summarize", "and keep what was learnt on the branch left"],
    ],
    load: async () => (await import("./commands/goto.ts")).run,
  },
  {
    name: "diff",
    summary: "Compare two branches: where they part, and what was done on each",
    args: [
      session,
      ["<a>", "where the one branch ends: the id of an entry (its beginning will do), or its label"],
      ["[b]", "where the other ends; default: the current position"],
    ],
    examples: [
      ["bonsai diff session.jsonl 0000010c 00000200", "two branches beside each other"],
      ["bonsai diff session.jsonl 0000010c --json", "a branch and the current one, for a script"],
    ],
    load: async () => (await import("./commands/diff.ts")).run,
  },
  {
    name: "merge",
    summary: "Bring the outcome of another branch here, as a summary under the current position",
    args: [
      session,
      ["<branch>", "where that branch ends: the id of an entry (its beginning will do), or its label"],
    ],
    options: [
      {
        flags: "--focus <text>",
        description: "what the summary should dwell on",
        kind: "text or nothing",
      },
      {
        flags: "--digest",
        description: "summarise without a model (the default)",
        conflicts: ["model"],
      },
      { flags: "--model <provider/id>", description: "let this model summarise" },
      { flags: "--label <text>", description: "a label for the summary" },
      onlyExtension,
    ],
    examples: [
      ["bonsai merge session.jsonl 0000010c", "what was done there, told here"],
      ["bonsai merge session.jsonl 0000010c --json", "again: only what is new, or nothing"],
    ],
    load: async () => (await import("./commands/merge.ts")).run,
  },
  {
    name: "compact",
    summary: "Make the context small: summarise what is old, keep what is recent",
    args: [session],
    options: [
      leaf,
      { flags: "--dry-run", description: "show the plan and write nothing", conflicts: ["output"] },
      { flags: "--keep <tokens>", description: "tokens of recent context to keep, like 20k", kind: "tokens" },
      {
        flags: "--again",
        description: "make the latest compaction anew from the originals, not from its summary",
        conflicts: ["keep"],
      },
      {
        flags: "--before <entry>",
        description: "the cut: summarise everything before this entry",
        conflicts: ["keep"],
      },
      { flags: "--window <tokens>", description: "the model's context window, like 200k", kind: "tokens" },
      {
        flags: "--focus <text>",
        description: "what the summary should dwell on",
        kind: "text or nothing",
      },
      {
        flags: "--preset <name>",
        description: "another agent's policy: bonsai, pi, klaude, tunacode, opencode",
      },
      {
        flags: "--digest",
        description: "summarise without a model (the default)",
        conflicts: ["model"],
      },
      { flags: "--model <provider/id>", description: "let this model summarise" },
      onlyExtension,
      { flags: "-o, --output <file>", description: "compact a copy; the session itself stays as it is" },
    ],
    examples: [
      ["bonsai compact session.jsonl --dry-run", "look at the plan first"],
      ["bonsai compact session.jsonl -o small.jsonl", "compact a copy"],
      [
        "bonsai compact rollout-2026-11-20.jsonl",
        "a session of Claude Code, Codex, …: a new one is made of it",
      ],
      ["bonsai compact session.jsonl --keep 10k --focus 'the parser'", "keep less, and say what matters"],
      ["bonsai compact session.jsonl --before 0000010c --dry-run", "say yourself where the kept part begins"],
      ["bonsai compact session.jsonl --again --focus 'the parser'", "make the latest compaction anew"],
      ["bonsai compact session.jsonl --model anthropic/claude-haiku-4-5", "let a model summarise"],
      ["bonsai compact session.jsonl -e ./my-summary.ts", "let an extension summarise, or say no"],
    ],
    load: async () => (await import("./commands/compact.ts")).run,
  },
  {
    name: "undo",
    summary: "Undo the latest compaction",
    args: [session],
    examples: [["bonsai undo session.jsonl", "the whole history is back in the model's view"]],
    load: async () => (await import("./commands/undo.ts")).undo,
  },
  {
    name: "redo",
    summary: "Take the latest undo of a compaction back",
    args: [session],
    examples: [
      ["bonsai redo session.jsonl", "the compaction counts again; what came since stands behind it"],
    ],
    load: async () => (await import("./commands/undo.ts")).redo,
  },
  {
    name: "fork",
    summary: "Start a new session from a place in this one",
    args: [session, entry],
    options: [
      { flags: "-o, --output <file>", description: "where to write; default: among the recorded sessions" },
    ],
    examples: [
      ["bonsai fork session.jsonl 0000010c -o try.jsonl", "try another way without touching this one"],
    ],
    load: async () => (await import("./commands/fork.ts")).run,
  },
  {
    name: "import",
    summary: "Make a session of another agent's transcript, or of a session file from elsewhere",
    args: [
      [
        "<file>",
        "a transcript of Claude Code, Codex, OpenCode (or its folder), Gemini CLI or Qwen Code; or a session",
      ],
    ],
    options: [
      { flags: "--cwd <folder>", description: "the session's folder, when the transcript names none" },
      { flags: "--session-id <id>", description: "which session of a folder that holds several" },
      { flags: "-o, --output <file>", description: "where to write; default: among the recorded sessions" },
    ],
    examples: [
      ["bonsai import rollout-2026-11-20.jsonl -o session.jsonl", "a Codex transcript becomes a session"],
    ],
    load: async () => (await import("./commands/import.ts")).run,
  },
  {
    name: "export",
    summary: "Write a session as Markdown, or as a page for a browser",
    args: [session, ["[file]", "session.md or session.html; default: Markdown on standard output"]],
    options: [
      leaf,
      { flags: "--all", description: "in Markdown: all branches, not only the active one" },
      { flags: "-o, --output <file>", description: "where to write, in place of [file]" },
      { flags: "--redact", description: "replace what looks like a key, and keys that are stored (default)" },
      { flags: "--no-redact", description: "in a page: leave them" },
    ],
    examples: [
      ["bonsai export session.jsonl session.html", "one file that opens in a browser, without network"],
      ["bonsai export session.jsonl -o session.md", "to read or to share as text"],
    ],
    load: async () => (await import("./commands/export.ts")).run,
  },
  {
    name: "view",
    summary: "Show a session in the browser, and follow it",
    args: [["[session]", "a session file, or the id of a session; default: the latest of this folder"]],
    options: [
      { flags: "--port <number>", description: "serve at this port; default: one that is free" },
      { flags: "--no-open", description: "print the address, and open no browser" },
      { flags: "--redact", description: "replace what looks like a key, and keys that are stored (default)" },
      { flags: "--no-redact", description: "leave them" },
    ],
    examples: [
      ["bonsai view", "the latest session of this folder, as it goes on"],
      ["bonsai view session.jsonl --no-open", "only the address, for another browser on this machine"],
    ],
    load: async () => (await import("./commands/view.ts")).run,
  },
  {
    name: "doctor",
    summary: "Look for damage in a session file, and mend it in a copy",
    args: [session],
    options: [
      { flags: "--repair", description: "write a repaired copy; the file itself stays as it is" },
      { flags: "-o, --output <file>", description: "where to write the repaired copy" },
    ],
    examples: [
      ["bonsai doctor session.jsonl", "what is wrong with it"],
      ["bonsai doctor session.jsonl --repair -o mended.jsonl", "a copy without the damage"],
    ],
    load: async () => (await import("./commands/doctor.ts")).run,
  },
  {
    name: "trust",
    summary: "Trust a project: its own settings and extensions are used from then on",
    args: [["[folder]", "the project's folder; default: this one"]],
    options: [{ flags: "--untrust", description: "take the trust back" }],
    examples: [
      ["bonsai trust", "use the settings and run the extensions in .bonsai of this folder; they are listed"],
      ["bonsai trust ../shop --untrust", "and no longer those of another"],
    ],
    load: async () => (await import("./commands/trust.ts")).run,
  },
  {
    name: "install",
    summary: "Install extensions: one that comes with Bonsai, a package of npm, or a path",
    args: [
      [
        "[source]",
        "mcp or another name of the list, npm:NAME, npm:NAME@VERSION, or the path of a folder, a module or a tarball (.tgz); default: list what comes with Bonsai",
      ],
    ],
    examples: [
      ["bonsai install", "what comes with Bonsai; at a terminal, one of it can be chosen"],
      ["bonsai install mcp", "the servers of ~/.bonsai/mcp.json and .mcp.json"],
      ["bonsai install npm:NAME", "a package of npm, or its newest version; scripts of packages are not run"],
      ["bonsai install ./my-summary.ts", "a module of one's own, used where it lies"],
    ],
    load: async () => (await import("./commands/packages.ts")).install,
  },
  {
    name: "list",
    summary: "List packages and extensions: what runs in this folder, and where it comes from",
    args: [],
    examples: [["bonsai list", "what was installed, what was found, and what is wrong with it"]],
    load: async () => (await import("./commands/list.ts")).run,
  },
  {
    name: "remove",
    summary: "Remove an installed package",
    args: [["<package>", "its name, or the path that was installed"]],
    examples: [["bonsai remove NAME", "its extensions run no more; a path of one's own stays as it is"]],
    load: async () => (await import("./commands/packages.ts")).remove,
  },
  {
    name: "update",
    summary: "Bring installed packages to their newest versions",
    args: [["[package]", "one of them, by its name; default: all"]],
    examples: [["bonsai update", "what each was and is; the command itself is updated with npm"]],
    load: async () => (await import("./commands/packages.ts")).update,
  },
  {
    name: "login",
    summary: "Log in at a provider, or store its key",
    args: [["[provider]", "the provider; default: all are listed, with what is stored"]],
    options: [...extensionFlags],
    examples: [
      ["bonsai login", "which providers there are, and where you are logged in"],
      ["bonsai login corp -e ./corp.ts", "log in at a provider that an extension brings"],
      ["bonsai login anthropic < key.txt", "store a key that nobody sees"],
    ],
    load: async () => (await import("./commands/login.ts")).run,
  },
  {
    name: "logout",
    summary: "Take the login or the stored key of a provider away",
    args: [["<provider>", "the provider"]],
    options: [...extensionFlags],
    examples: [["bonsai logout anthropic", "take its key, or the login at it, out of auth.json"]],
    load: async () => (await import("./commands/logout.ts")).run,
  },
  {
    name: "models",
    summary: "List the models that can be used now, with their sizes and prices",
    args: [["[search]", "words of a provider, id or name"]],
    options: [{ flags: "--all", description: "all known models, usable or not" }, ...extensionFlags],
    examples: [
      ["bonsai models", "what can be used, and where its key comes from"],
      ["bonsai models sonnet --all", "every model of that name"],
      ["bonsai models --json | jq -r '.[] | .provider + \"/\" + .id'", "for a script"],
    ],
    load: async () => (await import("./commands/models.ts")).run,
  },
  {
    name: "demo",
    summary: "Play a whole agent session on a scripted model, with real tools and real compactions",
    args: [],
    options: [{ flags: "--fast", description: "do not wait for readers" }],
    examples: [
      ["bonsai demo", "see what a compaction does, without a key"],
      ["bonsai demo --json", "every request and what happened in between, for a script"],
    ],
    load: async () => (await import("@bonsai-agent/app/demo")).run,
  },
];
