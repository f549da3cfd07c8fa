import { jsonOutcomes } from "../../packages/cli/test/json-outcomes.ts";

/** One call of the command in the recording. */
export interface GoldenCall {
  args: string[];
  input?: string;
  /** Name of its file. Default: its arguments. */
  name?: string;
  /** Calls made before in the same folder, whose output is not recorded. */
  before?: string[][];
  /** The user's settings. Default: none. */
  settings?: object;
}

const SESSIONS = [
  "large.jsonl",
  "workday.jsonl",
  "billing.jsonl",
  "security.jsonl",
  "firmware.jsonl",
  "game.jsonl",
];
const DAMAGED = [
  "empty.jsonl",
  "header.jsonl",
  "torn.jsonl",
  "notes.txt",
  "middle.jsonl",
  "missing.jsonl",
  ".",
];
const COMMANDS = [
  ...[
    "sessions",
    "show",
    "lab",
    "context",
    "tree",
    "search",
    "goto",
    "diff",
    "merge",
    "compact",
    "undo",
    "redo",
  ],
  ...["fork", "import", "export", "view", "doctor", "trust", "install", "list", "remove", "update", "login"],
  ...["logout", "models", "demo"],
];
const words = (line: string): GoldenCall => ({ args: line.split(" ") });

/** Calls that only read, on sessions of three kinds: recorded by pi, generated, and written by hand. */
function reading(file: string): GoldenCall[] {
  return [
    ...["show", "show --json", "context", "context --json", "tree", "tree --all", "tree --json", "doctor"],
    ...[
      "doctor --json",
      "export",
      "compact --dry-run",
      "compact --dry-run --json",
      "compact --keep 4k --dry-run",
    ],
    ...["compact --before 00000000 --dry-run", "context --leaf ffffffff", "show --sources"],
  ]
    .map((line) => {
      const [command = "", ...rest] = line.split(" ");
      return { args: [command, file, ...rest] };
    })
    .concat([
      { args: ["search", file, "error"] },
      { args: ["search", file, "zzzz nothing"] },
      { args: ["search", file, "err.r", "--regex", "-n", "3"] },
    ]);
}

/** Calls that write, each on a copy of its own. */
function writing(file: string): GoldenCall[] {
  return [
    { args: ["compact", file, "--digest", "-o", "copy.jsonl"] },
    { args: ["compact", file, "--digest", "-o", "copy.jsonl", "--json"] },
    { args: ["compact", file, "--keep", "4k"] },
    { args: ["undo", file] },
    { args: ["redo", file] },
    { args: ["goto", file, "ffffffff"] },
    { args: ["fork", file, "ffffffff", "-o", "fork.jsonl"] },
    { args: ["diff", file, "nowhere"] },
    { args: ["merge", file, "nowhere"] },
    { args: ["export", file, "page.html"] },
  ];
}

const usage: GoldenCall[] = [
  ...COMMANDS.flatMap((name) => [{ args: [name, "--help"] }, { args: [name, "--wrong"] }]),
  ...["show", "context", "tree", "search", "goto", "diff", "merge", "compact", "undo", "fork", "import"].map(
    (name) => ({
      args: [name],
    }),
  ),
  ...[
    "--help",
    "help",
    "--version",
    "sho",
    "treee x.jsonl",
    "sessions --cwd",
    "sessions -n zero",
    "compact a b c",
  ].map(words),
  ...[
    "compact workday.jsonl --keep lots",
    "compact workday.jsonl --preset none --dry-run",
    "compact workday.jsonl --digest --model a/b",
  ].map(words),
  ...["search", "search --all", "search --all error", "search --all zzzz", "search workday.jsonl"].map(words),
  ...[
    "show none",
    "show workday",
    "tree none --json",
    "goto workday.jsonl",
    "export workday.jsonl a.txt",
  ].map(words),
];

const running: GoldenCall[] = [
  ...[
    "-p",
    "-p hello",
    "--mode wrong hello",
    "--model none -p hello",
    "--model none/none -p hello",
    "-c -p go",
    "-r none -p go",
  ].map(words),
  ...[
    "--session none.jsonl -p go",
    "--fork none -p go",
    "--thinking hard -p go",
    "--tools nothing -p go",
    "--leaf a -p go",
  ].map(words),
  ...[
    "-p go --model scripted/play.json",
    "--mode json go --model scripted/play.json",
    "-p go --model scripted/none.json",
  ].map(words),
  ...[
    "-p go --model scripted/play.json --no-session -e ./none.ts",
    "-p go --model scripted/play.json -e ./broken.ts",
  ].map(words),
  ...[
    "-p go --model scripted/play.json --no-tools",
    "-p go --model scripted/play.json --tools read",
    "-p @none.txt",
  ].map(words),
  ...[
    "-p @workday.txt go --model scripted/play.json --system-prompt none",
    "-q -p go --model scripted/play.json",
  ].map(words),
  {
    args: ["--mode", "rpc", "--model", "scripted/play.json"],
    input: '{"type":"get_state"}\n{"type":"wrong"}\nno json\n',
  },
  ...[
    "models",
    "models --all",
    "models --all sonnet",
    "models nothing",
    "models --json",
    "login",
    "login none",
    "logout none",
  ].map(words),
  { args: ["login", "anthropic"], input: "" },
  ...[
    "trust",
    "trust none",
    "trust --untrust",
    "install",
    "install --json",
    "install none-such",
    "install ./none",
    "list",
  ].map(words),
  ...[
    "list --json",
    "remove none",
    "update",
    "update none",
    "sessions",
    "sessions --json",
    "sessions -n 1",
    "sessions --cwd .",
  ].map(words),
  ...[
    "import transcript.jsonl -o imported.jsonl",
    "import notes.txt",
    "import none",
    "import workday.jsonl -o again.jsonl",
  ].map(words),
  ...[
    "lab workday.jsonl",
    "lab workday.jsonl --policy none",
    "lab none",
    "lab workday.jsonl --policy pi --json",
  ].map(words),
  ...[
    "demo --fast",
    "demo --fast --json",
    "view none",
    "view workday.jsonl --port x",
    "lab tune",
    "lab --all",
  ].map(words),
];

/** Every outcome of every command as JSON. */
const outcomes = jsonOutcomes.map(({ args, before = [], ...call }): GoldenCall => {
  const split = (line: string) => line.split(" ");
  return { ...call, args: [...split(args), "--json"], before: before.map(split) };
});

/** About 440 calls: every command on good and damaged files, help, wrong usage, runs on a scripted model, and JSON. */
export const goldenCalls: readonly GoldenCall[] = [
  ...usage,
  ...running,
  ...SESSIONS.flatMap(reading),
  ...["workday.jsonl", "billing.jsonl"].flatMap(writing),
  ...DAMAGED.flatMap((file) =>
    ["show", "context", "tree", "doctor", "compact", "export"].map((command) => ({ args: [command, file] })),
  ),
  ...outcomes,
];
