import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** One call of a command with `--json`, in a folder of its own that has the files of `outcomeFiles`. */
export interface JsonOutcome {
  /** Name of its golden file. */
  name: string;
  args: string;
  /** Calls made before, whose output does not count. */
  before?: readonly string[];
  /** Text on stdin. Default: empty. */
  input?: string;
  /** The user's settings. Default: none. */
  settings?: object;
}

const header = {
  type: "session",
  version: 3,
  id: "5e551011-0000-4000-8000-000000000000",
  timestamp: "2026-11-20T09:00:00.000Z",
  cwd: "/home/dev/shop",
};

const usageOf = (totalTokens: number) => ({
  ...{ input: 10, output: 20, cacheRead: totalTokens - 80, cacheWrite: 50, totalTokens },
  cost: { input: 0.001, output: 0.002, cacheRead: 0.003, cacheWrite: 0.004, total: 0.01 },
});

/**
 * A session with a branch, a label and a failed command:
 *
 *     a1 a2 a3 a4 ┬ b1 b2        ("dead end")
 *                 ╰ c1 c2 c3 c4 c5 c6 (current)
 */
function shopLines(): object[] {
  const user = (content: string) => ({ role: "user", content });
  const answer = (text: string, tokens: number, calls: object[] = []) => ({
    ...{ role: "assistant", content: [{ type: "text", text }, ...calls], usage: usageOf(tokens) },
    ...{ api: "anthropic-messages", provider: "anthropic", model: "claude-sonnet-4-5", stopReason: "stop" },
  });
  const call = (id: string, name: string, args: object) => ({ type: "toolCall", id, name, arguments: args });
  const result = (toolCallId: string, toolName: string, text: string, isError = false) => ({
    ...{ role: "toolResult", toolCallId, toolName, isError },
    content: [{ type: "text", text }],
  });
  const messages: [id: string, parentId: string | null, message: object][] = [
    ["aaaa0001", null, user("Make the totals right. Never use floats for money.")],
    ["aaaa0002", "aaaa0001", answer("I read the code.", 120, [call("1", "read", { path: "src/total.ts" })])],
    [
      "aaaa0003",
      "aaaa0002",
      result("1", "read", "export const total = 1; // a line of the file\n".repeat(300)),
    ],
    ["aaaa0004", "aaaa0003", answer("The total is a constant.", 3_900)],
    ["bbbb0001", "aaaa0004", user("Try a cache.")],
    ["bbbb0002", "bbbb0001", answer("A cache makes it worse.", 3_930)],
    ["cccc0001", "aaaa0004", user("Then compute it. The error code must stay E-4711.")],
    [
      "cccc0002",
      "cccc0001",
      answer("I run the tests.", 3_960, [call("2", "bash", { command: "pnpm test" })]),
    ],
    [
      "cccc0003",
      "cccc0002",
      result("2", "bash", "1 test failed: E-4711\n\nCommand exited with code 1", true),
    ],
    ["cccc0004", "cccc0003", answer("One test fails with E-4711.", 4_000)],
    ["cccc0005", "cccc0004", user("Go on.")],
    ["cccc0006", "cccc0005", answer("Done: the total is computed.", 4_020)],
  ];
  const at = (index: number) => new Date(Date.UTC(2026, 10, 20, 9, 0, 30 * index)).toISOString();
  const entries = messages.map(([id, parentId, message], index) => {
    const timestamp = at(index);
    return {
      type: "message",
      id,
      parentId,
      timestamp,
      message: { timestamp: Date.parse(timestamp), ...message },
    };
  });
  const label = {
    type: "label",
    id: "bbbb0003",
    parentId: "bbbb0002",
    targetId: "bbbb0001",
    label: "dead end",
  };
  return [header, ...entries.slice(0, 6), { ...label, timestamp: at(6) }, ...entries.slice(6)];
}

/** A session in which the user ran a command with a long output. */
function commandLines(): object[] {
  const output = "one line of a long log\n".repeat(3_500);
  const answer = (text: string, tokens: number) => ({
    ...{ role: "assistant", content: [{ type: "text", text }], stopReason: "stop", usage: usageOf(tokens) },
    ...{ api: "anthropic-messages", provider: "anthropic", model: "claude-sonnet-4-5" },
  });
  const messages = [
    { role: "user", content: "Look at the log." },
    answer("Show it, please.", 100),
    {
      role: "bashExecution",
      command: "cat app.log",
      output,
      exitCode: 0,
      cancelled: false,
      truncated: false,
    },
    { role: "user", content: "Is it fine?" },
    answer("Yes: it has no errors.", 24_200),
  ];
  const entries = messages.map((message, index) => ({
    ...{ type: "message", id: `dddd000${index}`, parentId: index === 0 ? null : `dddd000${index - 1}` },
    ...{
      timestamp: header.timestamp,
      message: { timestamp: Date.parse(header.timestamp) + index, ...message },
    },
  }));
  return [header, ...entries];
}

const lines = (values: readonly object[]) => values.map((value) => `${JSON.stringify(value)}\n`).join("");

const decides = (event: string, decision: string) =>
  `export default (bonsai) => bonsai.on("${event}", ({ preparation }) => (${decision}));\n`;
const summary = (text: string) =>
  `{ compaction: { summary: ${JSON.stringify(text)}, firstKeptEntryId: preparation.firstKeptEntryId, tokensBefore: preparation.tokensBefore } }`;

const sections = [
  "## Goal\nMake the totals right.",
  "## Constraints & Preferences\n- Never use floats for money.",
  "## Progress\n### Done\n- [x] Read src/total.ts\n### In Progress\n- none\n### Blocked\n- none",
  "## Key Decisions\n- none",
  "## Next Steps\n1. Compute the total.",
  "## Critical Context\n- E-4711",
].join("\n\n");
const prices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const reading = { calls: [{ name: "read", arguments: { path: "big.txt" } }] };
const scenario = (parts: object) =>
  JSON.stringify({ contextWindow: 100_000, turn: [{ text: "Done." }], atEnd: "repeat", ...parts });
const refused = { error: { status: 400, code: "invalid_request_error", message: "No, thank you." } };

/** Files of the folder in which each outcome runs: sessions, extensions, and models that follow a script. */
const outcomeFiles: Readonly<Record<string, () => string>> = {
  "shop.jsonl": () => lines(shopLines()),
  "command.jsonl": () => lines(commandLines()),
  "new.jsonl": () => lines([header]),
  "cut-off.jsonl": () => lines(shopLines()).slice(0, -40),
  "memo.txt": () => "These are notes.\n",
  "big.txt": () => "A line of a big file, with a number: 4711.\n".repeat(120),
  "no.js": () => decides("session_before_compact", `{ cancel: true, reason: "Not today." }`),
  "ours.js": () => decides("session_before_compact", summary("Ours: the total is computed.")),
  "blank.js": () => decides("session_before_compact", summary("")),
  "stays.js": () => decides("session_before_tree", `{ cancel: true, reason: "Stay here." }`),
  "branch.js": () => decides("session_before_tree", `{ summary: { summary: "Ours: a cache was tried." } }`),
  "throws.js": () => "export default () => { throw new Error('broken on purpose'); };\n",
  "good.json": () => scenario({ summary: [{ text: sections }], usdPerMillionTokens: prices }),
  "refuses.json": () => scenario({ turn: [refused], summary: [refused] }),
  "silent.json": () => scenario({ turn: [{ thinking: "Hm." }], summary: [{ text: "" }] }),
  "reads.json": () =>
    scenario({
      contextWindow: 24_000,
      turn: [...Array(14).fill(reading), { text: "Done." }],
      summary: [{ text: sections }],
    }),
  "overflows.json": () =>
    scenario({
      turn: [
        ...Array(6).fill(reading),
        { error: { status: 400, message: "prompt is too long: 120000 tokens > 100000 maximum" } },
        { text: "Done." },
      ],
      summary: [{ text: sections }],
    }),
  "never-ends.json": () => scenario({ turn: [reading] }),
};

/** Writes the files of `outcomeFiles` into a folder. */
export function writeOutcomeFiles(folder: string): void {
  for (const [name, text] of Object.entries(outcomeFiles)) writeFileSync(join(folder, name), text());
}

const compacted = "compact shop.jsonl --keep 200 -e ours.js";
const noFallback = { compaction: { summarizer: { fallback: "never" } } };
const quick = { retry: { maxDelayMs: 0 }, titles: false };
const foreground = { ...quick, compaction: { background: false } };

/** A call for each outcome of each command. */
export const jsonOutcomes: readonly JsonOutcome[] = [
  { name: "compact-compacted", args: "compact shop.jsonl --keep 200" },
  { name: "compact-copy", args: "compact shop.jsonl --keep 200 -o copy.jsonl" },
  { name: "compact-by-model", args: "compact shop.jsonl --keep 200 --model scripted/good.json" },
  { name: "compact-by-extension", args: compacted },
  { name: "compact-again", before: [compacted], args: "compact shop.jsonl --again" },
  { name: "compact-before-entry", args: "compact shop.jsonl --before cccc0005" },
  { name: "compact-masked", args: "compact command.jsonl --keep 2k" },
  { name: "compact-planned-masks", args: "compact command.jsonl --keep 2k --dry-run" },
  { name: "compact-nothing", args: "compact shop.jsonl" },
  { name: "compact-nothing-copy", args: "compact shop.jsonl -o copy.jsonl" },
  { name: "compact-new-session", args: "compact new.jsonl" },
  { name: "compact-already", before: [compacted], args: "compact shop.jsonl" },
  { name: "compact-cancelled", args: "compact shop.jsonl --keep 200 -e no.js" },
  {
    name: "compact-failed-extension",
    args: "compact shop.jsonl --keep 200 -e blank.js",
    settings: noFallback,
  },
  { name: "compact-blank-extension", args: "compact shop.jsonl --keep 200 -e blank.js" },
  {
    name: "compact-failed-model",
    args: "compact shop.jsonl --keep 200 --model scripted/refuses.json",
    settings: noFallback,
  },
  { name: "compact-digest-after-model", args: "compact shop.jsonl --keep 200 --model scripted/refuses.json" },
  { name: "compact-silent-model", args: "compact shop.jsonl --keep 200 --model scripted/silent.json" },
  { name: "compact-planned", args: "compact shop.jsonl --keep 200 --dry-run" },
  {
    name: "compact-planned-model",
    args: "compact shop.jsonl --keep 200 --dry-run --model scripted/good.json",
  },
  { name: "compact-planned-extension", args: "compact shop.jsonl --keep 200 --dry-run -e ours.js" },
  { name: "compact-planned-again", before: [compacted], args: "compact shop.jsonl --again --dry-run" },
  { name: "compact-planned-nothing", args: "compact shop.jsonl --dry-run" },
  { name: "compact-planned-already", before: [compacted], args: "compact shop.jsonl --dry-run" },
  { name: "compact-again-without-summary", args: "compact shop.jsonl --again" },
  { name: "compact-before-unknown", args: "compact shop.jsonl --before ffffffff" },
  { name: "compact-before-illegal", args: "compact shop.jsonl --before aaaa0003" },
  { name: "compact-broken-extension", args: "compact shop.jsonl --keep 200 -e throws.js" },
  { name: "compact-unknown-model", args: "compact shop.jsonl --model none/none" },
  {
    name: "compact-bad-settings",
    args: "compact shop.jsonl",
    settings: { compaction: { keepRecentTokens: -1 } },
  },
  { name: "compact-torn", args: "compact cut-off.jsonl --keep 200" },
  { name: "compact-missing", args: "compact none.jsonl" },
  { name: "undo-undone", before: [compacted], args: "undo shop.jsonl" },
  { name: "undo-nothing", args: "undo shop.jsonl" },
  { name: "redo-redone", before: [compacted, "undo shop.jsonl"], args: "redo shop.jsonl" },
  { name: "redo-nothing", args: "redo shop.jsonl" },
  { name: "show-session", args: "show shop.jsonl" },
  { name: "show-compacted", before: [compacted], args: "show shop.jsonl" },
  { name: "show-new", args: "show new.jsonl" },
  { name: "context-items", args: "context shop.jsonl" },
  { name: "context-compacted", before: [compacted], args: "context shop.jsonl" },
  { name: "context-at-leaf", args: "context shop.jsonl --leaf bbbb0002" },
  { name: "context-unknown-leaf", args: "context shop.jsonl --leaf ffffffff" },
  { name: "tree-rows", args: "tree shop.jsonl" },
  { name: "tree-new", args: "tree new.jsonl" },
  { name: "goto-moved", args: "goto shop.jsonl aaaa0004" },
  { name: "goto-user-message", args: "goto shop.jsonl cccc0005" },
  { name: "goto-summarised", args: "goto shop.jsonl aaaa0004 --summarize" },
  {
    name: "goto-summarised-by-extension",
    args: "goto shop.jsonl aaaa0004 --summarize -e branch.js --label tried",
  },
  { name: "goto-unchanged", args: "goto shop.jsonl cccc0006" },
  { name: "goto-cancelled", args: "goto shop.jsonl aaaa0004 --summarize -e stays.js" },
  { name: "goto-unknown", args: "goto shop.jsonl ffffffff" },
  { name: "goto-ambiguous", args: "goto shop.jsonl aaaa" },
  { name: "goto-wrong-usage", args: "goto shop.jsonl aaaa0004 --focus prices" },
  { name: "merge-merged", args: "merge shop.jsonl bbbb0002" },
  { name: "merge-by-extension", args: "merge shop.jsonl bbbb0002 -e branch.js" },
  { name: "merge-again", before: ["merge shop.jsonl bbbb0002"], args: "merge shop.jsonl bbbb0002" },
  { name: "merge-own-path", args: "merge shop.jsonl aaaa0004" },
  { name: "merge-cancelled", args: "merge shop.jsonl bbbb0002 -e stays.js" },
  { name: "diff-branches", args: "diff shop.jsonl bbbb0002" },
  { name: "diff-unknown", args: "diff shop.jsonl nowhere" },
  { name: "fork-forked", args: "fork shop.jsonl aaaa0004 -o fork.jsonl" },
  { name: "fork-exists", args: "fork shop.jsonl aaaa0004 -o memo.txt" },
  { name: "export-markdown", args: "export shop.jsonl" },
  { name: "export-file", args: "export shop.jsonl shop.md" },
  { name: "export-wrong-ending", args: "export shop.jsonl shop.pdf" },
  { name: "import-session", args: "import shop.jsonl -o imported.jsonl" },
  { name: "import-unknown", args: "import memo.txt" },
  { name: "doctor-sound", args: "doctor shop.jsonl" },
  { name: "doctor-damaged", args: "doctor cut-off.jsonl" },
  { name: "doctor-repaired", args: "doctor cut-off.jsonl --repair -o repaired.jsonl" },
  { name: "search-hits", args: "search --in shop.jsonl E-4711" },
  { name: "search-nothing", args: "search --in shop.jsonl zzzz" },
  { name: "search-bad-expression", args: "search --in shop.jsonl ( --regex" },
  { name: "search-no-sessions", args: "search total" },
  { name: "search-all", before: ["fork shop.jsonl aaaa0004"], args: "search constant" },
  { name: "sessions-none", args: "sessions" },
  { name: "sessions-listed", before: ["fork shop.jsonl aaaa0004"], args: "sessions" },
  { name: "models-none", args: "models" },
  { name: "login-none", args: "login none" },
  { name: "login-stored", args: "login anthropic", input: "not-a-real-key\n" },
  { name: "logout-done", before: ["login anthropic"], input: "not-a-real-key\n", args: "logout anthropic" },
  { name: "logout-nothing", args: "logout anthropic" },
  { name: "import-settings-none", args: "import-settings pi" },
  { name: "trust-trusted", args: "trust ." },
  { name: "trust-untrusted", before: ["trust ."], args: "trust . --untrust" },
  { name: "trust-missing", args: "trust none" },
  { name: "install-list", args: "install" },
  { name: "install-added", args: "install ./ours.js" },
  { name: "install-missing", args: "install ./none.js" },
  { name: "install-broken", args: "install ./throws.js" },
  { name: "list-none", args: "list" },
  { name: "list-one", before: ["install ./ours.js"], args: "list" },
  { name: "remove-removed", before: ["install ./ours.js"], args: "remove ./ours.js" },
  { name: "remove-unknown", args: "remove none" },
  { name: "update-none", args: "update" },
  { name: "update-unknown", args: "update none" },
  { name: "lab-policies", args: "lab shop.jsonl --policy pi --window 8k" },
  { name: "lab-unknown-policy", args: "lab shop.jsonl --policy none" },
  { name: "lab-tune", args: "lab --tune shop.jsonl --window 8k" },
  { name: "view-missing", args: "view none" },
  { name: "unknown-command", args: "comapct shop.jsonl" },
  { name: "run-done", args: "--model scripted/good.json --no-session go", settings: quick },
  { name: "run-refused", args: "--model scripted/refuses.json --no-session go", settings: quick },
  { name: "run-silent", args: "--model scripted/silent.json --no-session go", settings: quick },
  { name: "run-compacts-at-threshold", args: "--model scripted/reads.json go", settings: foreground },
  { name: "run-compacts-in-background", args: "--model scripted/reads.json go", settings: quick },
  { name: "run-compacts-after-overflow", args: "--model scripted/overflows.json go", settings: foreground },
  {
    name: "run-cancels-compaction",
    args: "--model scripted/reads.json -e no.js go",
    settings: foreground,
  },
  {
    name: "run-limit",
    args: "--model scripted/never-ends.json --no-session go",
    settings: { ...quick, limits: { runRequests: 2 } },
  },
  { name: "run-no-model", args: "--model none/none go" },
];
