import type { CommandGrammar } from "./command-grammar.ts";
import { database, sessionDir } from "./flags.ts";

/** Commands for sessions that several hosts share. */
export const sharedCommands: readonly CommandGrammar[] = [
  {
    name: "database init",
    summary: "Create the tables for shared sessions and jobs, or bring them up to date",
    args: [],
    options: [database],
    examples: [["bonsai database init --database postgres://host/name", "prepare a database, once"]],
    load: async () => (await import("../commands/database.ts")).init,
  },
  {
    name: "database status",
    summary: "Show the number and the size of the shared sessions",
    args: [],
    options: [database],
    examples: [["bonsai database status --json", "the database of sessions.store, as JSON"]],
    load: async () => (await import("../commands/database.ts")).status,
  },
  {
    name: "session push",
    summary: "Copy a session from a file into the database, or add its new entries as a branch",
    args: [["<session>", "a session file or id"]],
    options: [database, sessionDir],
    examples: [["bonsai session push 3f2a", "other hosts can continue this session"]],
    load: async () => (await import("../commands/database.ts")).push,
  },
  {
    name: "session pull",
    summary: "Copy a session from the database into a file, byte for byte",
    args: [
      ["<session>", "the id of a shared session, or its first characters"],
      ["[file]", "write here; default: the sessions folder"],
    ],
    options: [
      database,
      sessionDir,
      { flags: "-o, --output <file>", description: "write here, like [file]", hidden: true },
    ],
    examples: [["bonsai session pull 3f2a session.jsonl", "a file that opens without the database"]],
    load: async () => (await import("../commands/database.ts")).pull,
  },
  {
    name: "worker",
    summary: "Work on queued prompts and summaries of shared sessions until SIGTERM",
    args: [],
    options: [
      database,
      {
        flags: "--concurrency <count>",
        description: "work on COUNT sessions, and make COUNT summaries, at a time; default 4",
        kind: "count",
      },
      {
        flags: "--grace <seconds>",
        description: "after SIGTERM, let running work end for this long; default 60",
        kind: "count",
      },
      { flags: "--model <provider/id>", description: "use this model" },
      { flags: "--tools <names>", description: "offer only these tools, like read,grep; or none" },
      {
        flags: "--lease <seconds>",
        description: "let others continue its sessions after this time without a sign of life; default 45",
        kind: "count",
      },
      {
        flags: "--demo",
        description: "watch eight workers with a scripted model; two of them are killed",
        conflicts: ["concurrency", "grace", "model", "tools", "lease"],
      },
      { flags: "--yes", description: "with --demo: download PostgreSQL without asking" },
    ],
    examples: [
      ["bonsai worker --database postgres://host/name", "work on queued prompts"],
      ["bonsai worker --demo", "see sessions continue after a crash, without a key or a server"],
    ],
    load: async () => (await import("../commands/worker.ts")).run,
  },
  {
    name: "enqueue",
    summary: "Queue a prompt for a shared session, or for a new one",
    args: [["<words...>", "the id of a shared session and a prompt, or a prompt alone for a new session"]],
    options: [database],
    examples: [
      ['bonsai enqueue "Upgrade the linter."', "a new session; a worker does it"],
      ['bonsai enqueue 3f2a "Now the tests."', "after the earlier prompts of this session"],
    ],
    load: async () => (await import("../commands/database.ts")).enqueue,
  },
  {
    name: "jobs",
    summary: "List queued, running and ended prompts, newest first",
    args: [],
    options: [
      database,
      { flags: "--cancel <id>", description: "cancel this job first" },
      { flags: "-n, --limit <count>", description: "list at most COUNT jobs; default 100", kind: "count" },
    ],
    examples: [["bonsai jobs --json", "the jobs, as JSON"]],
    load: async () => (await import("../commands/database.ts")).jobs,
  },
];
