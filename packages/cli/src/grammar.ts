import type { ExitCode, Invocation } from "@bonsai-agent/app/invocation";

/** Runs one call of a command. Returns the exit code; undefined means done. */
type Command = (invocation: Invocation) => Promise<ExitCode | undefined>;

/** The headings of `bonsai --help`. */
export const sections = ["Sessions", "Compaction", "Setup"] as const;
type Section = (typeof sections)[number];

/** The grammar of one command. */
export interface CommandGrammar {
  /** One word, or two for a command of a group: `session tree`. */
  readonly name: string;
  /** Section of `bonsai --help`; commands of a group and commands for one occasion have none. */
  readonly section?: Section;
  /** One line for lists of commands. */
  readonly summary: string;
  /** `<required>` and `[optional]`, each with a description. */
  readonly args: readonly (readonly [syntax: string, description: string])[];
  readonly options?: readonly OptionGrammar[];
  /** Command lines to copy, each with its effect. The first one is in `bonsai --help`. */
  readonly examples: readonly (readonly [command: string, effect: string])[];
  load(): Promise<Command>;
}

/** Commands that share their first word. */
export interface CommandGroup {
  readonly name: string;
  readonly section: Section;
  readonly summary: string;
  readonly examples: readonly (readonly [command: string, effect: string])[];
}

/**
 * One flag. `kind` says how its value is parsed; the default is a text that is not empty. A "list" collects the values of
 * all occurrences.
 */
export interface OptionGrammar {
  readonly flags: string;
  readonly description: string;
  readonly kind?: "tokens" | "count" | "text or nothing" | "list";
  /** The only allowed values. */
  readonly choices?: readonly string[];
  /** Flags that exclude this one. */
  readonly conflicts?: readonly string[];
  /** The flag works, but no help shows it. */
  readonly hidden?: true;
}

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

/** The flags of every command that runs extensions. */
const extensionFlags: readonly OptionGrammar[] = [
  { flags: "-e, --extension <path>", description: "load an extension; repeatable", kind: "list" },
  { flags: "--no-extensions", description: "load only the extensions of -e" },
];

const sessionDir: OptionGrammar = {
  flags: "--session-dir <folder>",
  description: "read and write sessions in this folder",
};

/** The flags of `bonsai [prompt…]`, in the order of `bonsai help flags`. */
export const agentFlags: readonly OptionGrammar[] = [
  { flags: "-p, --print", description: "print the answer and exit" },
  {
    flags: "--mode <mode>",
    description: "text (default), json (events) or rpc",
    choices: ["text", "json", "rpc"],
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

const session = ["<session>", "a session file, or the first characters of a session id"] as const;
const entry = ["<entry>", "the first characters of an entry id; `bonsai session tree` lists them"] as const;
const leaf: OptionGrammar = {
  flags: "--leaf <id>",
  description: "use this entry instead of the current position",
};
/** Commands on files load no extensions on their own, so they do the same everywhere. */
const onlyExtension: OptionGrammar = {
  flags: "-e, --extension <path>",
  description: "load an extension; no others run; repeatable",
  kind: "list",
};
const focus: OptionGrammar = {
  flags: "--focus <text>",
  description: "a topic that the summary must cover",
  kind: "text or nothing",
};
const digest: OptionGrammar = {
  flags: "--digest",
  description: "summarise without a model (default)",
  conflicts: ["model"],
};
const summaryModel: OptionGrammar = {
  flags: "--model <provider/id>",
  description: "write the summary with this model",
};
const redaction = (place = ""): readonly OptionGrammar[] => [
  { flags: "--redact", description: "replace stored keys and everything that looks like a key (default)" },
  { flags: "--no-redact", description: `${place}keep keys as they are` },
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
];

/** All commands, in the order of `bonsai --help`. */
export const grammar: readonly CommandGrammar[] = [
  {
    name: "session list",
    summary: "List sessions, newest first",
    args: [],
    options: [
      { flags: "--cwd <folder>", description: "only sessions of this working folder" },
      { ...sessionDir, description: "list the sessions in this folder" },
      { flags: "-n, --limit <count>", description: "list at most COUNT sessions", kind: "count" },
      ...redaction(),
    ],
    examples: [
      ["bonsai session list", "the latest sessions"],
      ["bonsai session list --cwd . --json", "the sessions of this folder, as JSON"],
    ],
    load: async () => (await import("./commands/sessions.ts")).run,
  },
  {
    name: "session show",
    summary: "Show counts, tokens, cost, files, branches and the latest compaction",
    args: [session],
    options: [
      { flags: "--sources", description: "list each line of the latest summary with its source entries" },
      { flags: "--entry <id>", description: "with --sources: use the summary of this entry" },
      ...redaction(),
    ],
    examples: [
      ["bonsai session show session.jsonl", "a session in one screen"],
      ["bonsai session show 3f2a --json", "a recorded session, as JSON"],
      ["bonsai session show 3f2a --sources", "the source of each line of the summary"],
    ],
    load: async () => (await import("./commands/show.ts")).run,
  },
  {
    name: "session context",
    summary: "Show what the model sees, item by item",
    args: [session],
    options: [leaf],
    examples: [
      ["bonsai session context session.jsonl", "each item with its tokens"],
      ["bonsai session context session.jsonl --leaf 0000010c", "the context at an earlier entry"],
      ["bonsai session context session.jsonl --json | jq '.[0].message'", "the first message of the context"],
    ],
    load: async () => (await import("./commands/context.ts")).run,
  },
  {
    name: "session tree",
    summary: "Show the branches, the active one first",
    args: [session],
    options: [{ flags: "--all", description: "show every entry on its own line" }, ...redaction()],
    examples: [
      ["bonsai session tree session.jsonl", "the branches, with long runs folded"],
      ["bonsai session tree session.jsonl --all | less", "every entry"],
    ],
    load: async () => (await import("./commands/tree.ts")).run,
  },
  {
    name: "session goto",
    summary: "Move the current position to another entry, like /tree",
    args: [session, entry],
    options: [
      { flags: "--summarize", description: "summarise the branch you leave" },
      { ...focus, description: "with --summarize: a topic that the summary must cover" },
      { ...summaryModel, description: "with --summarize: write the summary with this model" },
      { flags: "--label <text>", description: "label the summary; without a summary, label the entry" },
      onlyExtension,
    ],
    examples: [
      ["bonsai session goto session.jsonl 0000010c", "go back to an entry"],
      [
        "bonsai session goto session.jsonl 0000010c --summarize",
        "the same, with a summary of the branch you leave",
      ],
    ],
    load: async () => (await import("./commands/goto.ts")).run,
  },
  {
    name: "session fork",
    summary: "Copy a session up to an entry into a new session",
    args: [session, entry],
    options: [{ flags: "-o, --output <file>", description: "write here; default: the sessions folder" }],
    examples: [
      [
        "bonsai session fork session.jsonl 0000010c -o try.jsonl",
        "try something without changing the original",
      ],
    ],
    load: async () => (await import("./commands/fork.ts")).run,
  },
  {
    name: "session diff",
    summary: "Compare the work on two branches",
    args: [
      session,
      ["<a>", "the end of the first branch: an entry id (or its first characters) or a label"],
      ["[b]", "the end of the second branch; default: the current position"],
    ],
    options: redaction(),
    examples: [
      ["bonsai session diff session.jsonl 0000010c 00000200", "two branches side by side"],
      ["bonsai session diff session.jsonl 0000010c --json", "a branch and the current one, as JSON"],
    ],
    load: async () => (await import("./commands/diff.ts")).run,
  },
  {
    name: "session merge",
    summary: "Summarise another branch into the current one",
    args: [
      session,
      ["<branch>", "the end of the other branch: an entry id (or its first characters) or a label"],
    ],
    options: [
      focus,
      digest,
      summaryModel,
      { flags: "--label <text>", description: "label the summary" },
      onlyExtension,
    ],
    examples: [
      ["bonsai session merge session.jsonl 0000010c", "add a summary of that branch"],
      ["bonsai session merge session.jsonl 0000010c --json", "merge again: adds only the new work"],
    ],
    load: async () => (await import("./commands/merge.ts")).run,
  },
  {
    name: "session undo",
    summary: "Undo the latest compaction",
    args: [session],
    examples: [["bonsai session undo session.jsonl", "the model sees the whole history again"]],
    load: async () => (await import("./commands/undo.ts")).undo,
  },
  {
    name: "session redo",
    summary: "Redo the compaction you undid last",
    args: [session],
    examples: [["bonsai session redo session.jsonl", "the summary returns; later messages stay"]],
    load: async () => (await import("./commands/undo.ts")).redo,
  },
  {
    name: "session export",
    summary: "Write a session as Markdown or as an HTML page",
    args: [session, ["[file]", "session.md or session.html; default: Markdown on stdout"]],
    options: [
      leaf,
      { flags: "--all", description: "in Markdown: all branches, not only the active one" },
      { flags: "-o, --output <file>", description: "write here, like [file]", hidden: true },
      ...redaction("in a page: "),
    ],
    examples: [
      ["bonsai session export session.jsonl session.html", "one page that opens without network"],
      ["bonsai session export session.jsonl session.md", "a text to read or share"],
    ],
    load: async () => (await import("./commands/export.ts")).run,
  },
  {
    name: "session import",
    summary: "Turn another agent's transcript into a session",
    args: [
      [
        "<file>",
        "a transcript of Claude Code, Codex, OpenCode (or its folder), Gemini CLI or Qwen Code; or a session file",
      ],
    ],
    options: [
      { flags: "--cwd <folder>", description: "the working folder, if the transcript names none" },
      { flags: "--session-id <id>", description: "the session to import, if the folder has several" },
      { flags: "-o, --output <file>", description: "write here; default: the sessions folder" },
    ],
    examples: [
      ["bonsai session import rollout-2026-11-20.jsonl", "a Codex transcript becomes a session"],
      ["bonsai session import rollout-2026-11-20.jsonl -o session.jsonl", "the same, into this file"],
    ],
    load: async () => (await import("./commands/import.ts")).run,
  },
  {
    name: "session doctor",
    summary: "Find damage in a session file and repair it in a copy",
    args: [session],
    options: [
      { flags: "--repair", description: "write a repaired copy; the file itself does not change" },
      { flags: "-o, --output <file>", description: "write the repaired copy here" },
    ],
    examples: [
      ["bonsai session doctor session.jsonl", "list the damage"],
      ["bonsai session doctor session.jsonl --repair -o repaired.jsonl", "write a copy without the damage"],
    ],
    load: async () => (await import("./commands/doctor.ts")).run,
  },
  {
    name: "search",
    section: "Sessions",
    summary: "Search the text of all sessions, or of one",
    args: [["<query...>", "words to find, and phrases in double quotes"]],
    options: [
      { flags: "--in <session>", description: "search only this session file or id, for the exact text" },
      { flags: "--regex", description: "with --in: read the query as a regular expression" },
      { flags: "--cwd <folder>", description: "only sessions of this working folder", conflicts: ["in"] },
      { flags: "-n, --limit <count>", description: "print at most COUNT hits; default 50", kind: "count" },
      ...redaction(),
      {
        flags: "--all",
        description: "search all sessions (default)",
        conflicts: ["in", "regex"],
        hidden: true,
      },
    ],
    examples: [
      ['bonsai search "rate limit"', "search all sessions, best hits first"],
      ["bonsai search 'redis \"rate limit\"'", "entries with the word and the phrase"],
      ["bonsai search --in session.jsonl 'rate ?limit' --regex", "search one session"],
    ],
    load: async () => (await import("./commands/search.ts")).run,
  },
  {
    name: "view",
    section: "Sessions",
    summary: "Follow a session in the browser",
    args: [["[session]", "a session file or id; default: the latest session of this folder"]],
    options: [
      { flags: "--port <number>", description: "serve on this port; default: any free port" },
      { flags: "--no-open", description: "print the address and open no browser" },
      ...redaction(),
    ],
    examples: [
      ["bonsai view", "the latest session of this folder, live"],
      ["bonsai view session.jsonl --no-open", "only print the address"],
    ],
    load: async () => (await import("./commands/view.ts")).run,
  },
  {
    name: "compact",
    section: "Compaction",
    summary: "Summarise the older part of a session",
    args: [session],
    options: [
      leaf,
      { flags: "--dry-run", description: "show the plan and write nothing", conflicts: ["output"] },
      { flags: "--keep <tokens>", description: "keep this many recent tokens, like 20k", kind: "tokens" },
      {
        flags: "--again",
        description: "replace the latest compaction; summarise the original messages again",
        conflicts: ["keep"],
      },
      {
        flags: "--before <entry>",
        description: "summarise everything before this entry",
        conflicts: ["keep"],
      },
      {
        flags: "--window <tokens>",
        description: "the model's context window, like 200k",
        kind: "tokens",
        hidden: true,
      },
      focus,
      {
        flags: "--preset <name>",
        description: "the policy of another agent, as in compaction.preset",
        hidden: true,
      },
      digest,
      summaryModel,
      onlyExtension,
      { flags: "-o, --output <file>", description: "compact a copy; the session itself does not change" },
    ],
    examples: [
      ["bonsai compact 3f2a --dry-run", "show the plan for a recorded session"],
      ["bonsai compact session.jsonl -o small.jsonl", "compact a copy"],
      [
        "bonsai compact session.jsonl --keep 10k --focus 'the parser'",
        "keep fewer recent tokens, and set a focus",
      ],
      ["bonsai compact session.jsonl --model anthropic/claude-haiku-4-5", "write the summary with a model"],
      ["bonsai compact rollout-2026-11-20.jsonl", "turn another agent's transcript into a compacted session"],
      ["bonsai compact session.jsonl -e ./my-summary.ts", "let an extension summarise or cancel"],
    ],
    load: async () => (await import("./commands/compact.ts")).run,
  },
  {
    name: "lab",
    section: "Compaction",
    summary: "Compare compaction policies on past sessions",
    args: [
      [
        "[sessions...]",
        "sessions, transcripts, or folders of them; default: the latest session of this folder",
      ],
    ],
    options: [
      {
        flags: "--policy <policy>",
        description: "pi, bonsai+auto, pi+64k, …, or a settings file; repeat it to compare several",
        kind: "list",
      },
      {
        flags: "--summaries <source>",
        description: "digest (default), or recorded (the summaries in the session, if any)",
      },
      {
        flags: "--model <provider/id>",
        description: "write the summaries with this model, after you accept the price",
      },
      { flags: "--yes", description: "with --model: accept the price" },
      { flags: "-o, --output <file>", description: "write the table and the charts to this HTML page" },
      { flags: "--all", description: "replay all sessions of this folder" },
      {
        flags: "--window <tokens>",
        description: "the model's context window; default: the recorded model's",
        kind: "tokens",
      },
      {
        flags: "--tune",
        description: "find better settings for these sessions",
        conflicts: ["policy", "summaries", "model", "output"],
      },
      {
        flags: "--loss <share>",
        description: "with --tune: accepted loss of needed facts, 0 to 1; default 0.02",
      },
    ],
    examples: [
      ["bonsai lab session.jsonl", "compare your settings with every preset: cost and lost facts"],
      ["bonsai lab session.jsonl --policy pi --policy bonsai+64k", "compare two policies"],
      ["bonsai lab --tune --all", "print cheaper settings to paste, and their savings"],
    ],
    load: async () => (await import("./commands/lab.ts")).run,
  },
  {
    name: "demo",
    section: "Compaction",
    summary: "Watch a scripted agent compact, without a key",
    args: [],
    options: [{ flags: "--fast", description: "run without pauses" }],
    examples: [
      ["bonsai demo", "real tools and real compactions, without a key"],
      ["bonsai demo --json", "every request and event, as JSON"],
    ],
    load: async () => (await import("@bonsai-agent/app/demo")).run,
  },
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
    load: async () => (await import("./commands/models.ts")).run,
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
    load: async () => (await import("./commands/login.ts")).run,
  },
  {
    name: "import-settings",
    summary: "Take over the models, keys and settings of pi",
    args: [["<program>", "pi"]],
    examples: [["bonsai import-settings pi", "read ~/.pi/agent, or the folder in PI_CODING_AGENT_DIR"]],
    load: async () => (await import("./commands/import-settings.ts")).run,
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
    load: async () => (await import("./commands/trust.ts")).run,
  },
  {
    name: "extension add",
    summary: "Add a bundled extension, an npm package or your own file",
    args: [
      [
        "[source]",
        "mcp or another bundled name, npm:NAME, npm:NAME@VERSION, or a folder, module or tarball (.tgz); default: list the bundled extensions",
      ],
    ],
    examples: [
      ["bonsai extension add", "list the bundled extensions, and choose one"],
      ["bonsai extension add mcp", "use the servers of ~/.bonsai/mcp.json and .mcp.json"],
      ["bonsai extension add npm:NAME", "the newest version of a package; its scripts do not run"],
      ["bonsai extension add ./my-summary.ts", "your own module, loaded from where it is"],
    ],
    load: async () => (await import("./commands/packages.ts")).install,
  },
  {
    name: "extension list",
    summary: "List packages and extensions, and their problems",
    args: [],
    examples: [["bonsai extension list", "the extensions that run in this folder, and where they come from"]],
    load: async () => (await import("./commands/list.ts")).run,
  },
  {
    name: "extension remove",
    summary: "Remove an added package",
    args: [["<package>", "its name, or the path that you added"]],
    examples: [["bonsai extension remove NAME", "stop its extensions; your own files stay"]],
    load: async () => (await import("./commands/packages.ts")).remove,
  },
  {
    name: "extension update",
    summary: "Update added packages to their newest versions",
    args: [["[package]", "the name of one package; default: all"]],
    examples: [["bonsai extension update", "update all packages; to update bonsai itself, use npm"]],
    load: async () => (await import("./commands/packages.ts")).update,
  },
];
