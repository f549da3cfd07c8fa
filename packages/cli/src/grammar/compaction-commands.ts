import type { CommandGrammar } from "./command-grammar.ts";
import { digest, focus, onlyExtension, session, summaryModel } from "./flags.ts";

export const compactionCommands: readonly CommandGrammar[] = [
  {
    name: "compact",
    section: "Compaction",
    summary: "Summarise the older part of a session",
    args: [session],
    options: [
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
    load: async () => (await import("../commands/compact.ts")).run,
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
      { flags: "-o, --output <file>", description: "write the table and the charts to this HTML page" },
      { flags: "--all", description: "replay all sessions of this folder" },
      {
        flags: "--window <tokens>",
        description: "the context window; default: the recorded one, or that of --model",
        kind: "tokens",
      },
      {
        flags: "--model <provider/id>",
        description: "replay as if on this model; repeat it to compare several",
        kind: "list",
      },
      {
        flags: "--tune",
        description: "find better settings for these sessions",
        conflicts: ["policy", "model", "output"],
      },
    ],
    examples: [
      ["bonsai lab session.jsonl", "compare your settings with every preset: cost and lost facts"],
      ["bonsai lab session.jsonl --policy pi --policy bonsai+64k", "compare two policies"],
      [
        "bonsai lab session.jsonl --policy bonsai+summarizer.kind=provider --model anthropic/claude-sonnet-5-5",
        "let the provider compact, as if on another model",
      ],
      ["bonsai lab --tune --all", "print cheaper settings to paste, and their savings"],
    ],
    load: async () => (await import("../commands/lab.ts")).lab,
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
    load: async () => (await import("../demo/demo.ts")).run,
  },
];
