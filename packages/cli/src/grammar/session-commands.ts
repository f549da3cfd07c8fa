import type { CommandGrammar } from "./command-grammar.ts";
import {
  database,
  digest,
  entry,
  focus,
  leaf,
  onlyExtension,
  redaction,
  session,
  sessionDir,
  summaryModel,
} from "./flags.ts";

export const sessionCommands: readonly CommandGrammar[] = [
  {
    name: "session list",
    summary: "List sessions, newest first",
    args: [],
    options: [
      { flags: "--cwd <folder>", description: "only sessions of this working folder" },
      { ...sessionDir, description: "list the sessions in this folder" },
      { flags: "-n, --limit <count>", description: "list at most COUNT sessions", kind: "count" },
      { ...database, description: "list the sessions of this PostgreSQL database" },
      ...redaction(),
    ],
    examples: [
      ["bonsai session list", "the latest sessions"],
      ["bonsai session list --cwd . --json", "the sessions of this folder, as JSON"],
    ],
    load: async () => (await import("../commands/sessions.ts")).run,
  },
  {
    name: "session show",
    summary: "Show counts, tokens, cost, files, branches and the latest compaction",
    args: [session],
    options: [
      {
        flags: "--losses",
        description: "show the facts that each compaction lost; also reads another agent's transcript",
      },
      ...redaction(),
    ],
    examples: [
      ["bonsai session show session.jsonl", "a session in one screen"],
      ["bonsai session show 3f2a --json", "a recorded session, as JSON"],
      ["bonsai session show transcript.jsonl --losses", "the facts that another agent's compactions lost"],
    ],
    load: async () => (await import("../commands/session-read.ts")).show,
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
    load: async () => (await import("../commands/session-read.ts")).context,
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
    load: async () => (await import("../commands/session-read.ts")).tree,
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
    load: async () => (await import("../commands/session-edit.ts")).goto,
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
    load: async () => (await import("../commands/session-edit.ts")).fork,
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
      ["bonsai session diff session.jsonl 0000010c 00000200", "the work on two branches"],
      ["bonsai session diff session.jsonl 0000010c --json", "a branch and the current one, as JSON"],
    ],
    load: async () => (await import("../commands/session-read.ts")).diff,
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
    load: async () => (await import("../commands/session-edit.ts")).merge,
  },
  {
    name: "session undo",
    summary: "Undo the latest compaction",
    args: [session],
    options: [onlyExtension],
    examples: [["bonsai session undo session.jsonl", "the model sees the whole history again"]],
    load: async () => (await import("../commands/session-edit.ts")).undo,
  },
  {
    name: "session redo",
    summary: "Redo the compaction you undid last",
    args: [session],
    options: [onlyExtension],
    examples: [["bonsai session redo session.jsonl", "the summary returns; later messages stay"]],
    load: async () => (await import("../commands/session-edit.ts")).redo,
  },
  {
    name: "session export",
    summary: "Write a session as Markdown, as an HTML page, or for another machine",
    args: [session, ["[file]", "session.md, session.html or session.bonsai; default: Markdown on stdout"]],
    options: [
      leaf,
      { flags: "--all", description: "in Markdown: all branches, not only the active one" },
      { flags: "-o, --output <file>", description: "write here, like [file]", hidden: true },
      ...redaction("in a page or a .bonsai file: "),
    ],
    examples: [
      ["bonsai session export session.jsonl session.html", "one page that opens without network"],
      ["bonsai session export session.jsonl session.md", "a text to read or share"],
      ["bonsai session export 3f2a session.bonsai --no-redact", "the whole session, to continue elsewhere"],
    ],
    load: async () => (await import("../commands/view.ts")).exportSession,
  },
  {
    name: "session import",
    summary: "Turn another agent's transcript into a session, or import a .bonsai file",
    args: [
      [
        "<file>",
        "a .bonsai file; a transcript of Claude Code, Codex, OpenCode (or its folder), Gemini CLI or Qwen Code; or a session file",
      ],
    ],
    options: [
      {
        flags: "--cwd <folder>",
        description:
          "the working folder, if the transcript names none; of a .bonsai file, the folder to continue in",
      },
      { flags: "--session-id <id>", description: "the session to import, if the folder has several" },
      { flags: "-o, --output <file>", description: "write here; default: the sessions folder" },
      { ...database, description: "store the session of a .bonsai file in this PostgreSQL database" },
    ],
    examples: [
      ["bonsai session import session.bonsai", "continue here: bonsai -r"],
      ["bonsai session import rollout-2026-11-20.jsonl", "a Codex transcript becomes a session"],
      ["bonsai session import rollout-2026-11-20.jsonl -o session.jsonl", "the same, into this file"],
    ],
    load: async () => (await import("../commands/import.ts")).importTranscript,
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
    load: async () => (await import("../commands/session-read.ts")).doctor,
  },
  {
    name: "search",
    section: "Sessions",
    summary: "Search the text of all sessions, or of one",
    args: [["<query...>", "words to find, best matches first; a phrase in double quotes must match"]],
    options: [
      {
        flags: "--in <session>",
        description: "search only this session (file or id), or only this transcript of another agent",
      },
      { flags: "--regex", description: "read the query as a regular expression; hits in file order" },
      { flags: "--cwd <folder>", description: "only sessions of this working folder", conflicts: ["in"] },
      { flags: "-n, --limit <count>", description: "print at most COUNT hits; default 50", kind: "count" },
      { ...database, description: "search the sessions of this PostgreSQL database" },
      ...redaction(),
    ],
    examples: [
      ['bonsai search "rate limit"', "search all sessions, best hits first"],
      ["bonsai search 'redis \"rate limit\"'", "only entries with the phrase"],
      ["bonsai search --in session.jsonl 'rate ?limit' --regex", "search one session"],
    ],
    load: async () => (await import("../commands/search.ts")).run,
  },
  {
    name: "view",
    section: "Sessions",
    summary: "Follow a session in the browser",
    args: [["[session]", "a session file or id; default: the latest session of this folder"]],
    options: [
      { flags: "--port <number>", description: "serve on this port; default: any free port" },
      { flags: "--no-open", description: "print the address and open no browser" },
      { ...database, description: "follow a session of this PostgreSQL database" },
      ...redaction(),
    ],
    examples: [
      ["bonsai view", "the latest session of this folder, live"],
      ["bonsai view session.jsonl --no-open", "only print the address"],
    ],
    load: async () => (await import("../commands/view.ts")).view,
  },
];
