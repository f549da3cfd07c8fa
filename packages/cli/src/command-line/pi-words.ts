/** Short flags of pi, and the flags that they stand for. They work, but no help shows them. */
const SHORT_FLAGS: ReadonlyMap<string, string> = new Map([
  ["-a", "--approve"],
  ["-n", "--name"],
  ["-nc", "--no-context-files"],
  ["-ne", "--no-extensions"],
  ["-np", "--no-prompt-templates"],
  ["-ns", "--no-skills"],
  ["-nt", "--no-tools"],
  ["-t", "--tools"],
  ["-xt", "--exclude-tools"],
]);

/** For each flag that only pi has: what to do in Bonsai. */
const OTHER_FLAGS: ReadonlyMap<string, string> = new Map([
  ["--export", "To write a page, run `bonsai session export SESSION FILE.html`."],
  ["--list-models", "To list models, run `bonsai models [SEARCH]`."],
  ["--session-id", "To resume a session, use `-r ID`. A new session gets its own id."],
  ["--no-builtin-tools", "To leave out tools, name them: `--exclude-tools bash,write`."],
  ["-nbt", "To leave out tools, name them: `--exclude-tools bash,write`."],
  ["--no-mcp", "MCP is an extension. To leave out extensions, use `--no-extensions`."],
  ["--no-approve", "To stop trusting a project, run `bonsai trust --untrust`."],
  ["-na", "To stop trusting a project, run `bonsai trust --untrust`."],
  ["--verbose", "To write a log, use `--debug`."],
  ["--tui-mode", "Bonsai has one kind of screen. Leave out the flag."],
]);

/** For each command that only pi has: what to do in Bonsai. */
const OTHER_COMMANDS: ReadonlyMap<string, string> = new Map([
  ["auth", "Run `bonsai login` to log in, or to see your logins."],
  ["config", "Run `bonsai extension list`, or /settings in `bonsai`."],
  ["mcp", "Run `bonsai extension add mcp`, then use /mcp in `bonsai`."],
]);

/** A command line with pi's short flags replaced. Words after `--` stay. */
export function withoutShortFlags(argv: readonly string[]): readonly string[] {
  const end = argv.includes("--") ? argv.indexOf("--") : argv.length;
  return argv.map((word, at) => (at < end ? (SHORT_FLAGS.get(word) ?? word) : word));
}

/** Bonsai's form of a flag that only pi has. */
export function insteadOfFlag(flag: string): string | undefined {
  return OTHER_FLAGS.get(flag);
}

/** Bonsai's form of a command that only pi has. Longer lines are prompts. */
export function insteadOfCommand(first: string, rest: readonly string[]): string | undefined {
  return rest.length <= 2 && !rest.some((word) => word.includes(" ")) ? OTHER_COMMANDS.get(first) : undefined;
}
