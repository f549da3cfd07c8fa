import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { ExitCode } from "@bonsai-agent/app/invocation";
import { type CliIo, isInteractiveTerminal } from "@bonsai-agent/app/io";
import { nearestWord } from "@bonsai-agent/app/nearest-word";
import { BonsaiError } from "@bonsai-agent/messages";
import { grammar } from "./grammar.ts";

/**
 * Runs one command line.
 * @param argv what stands behind `bonsai`
 * @returns the exit code; everything else went to `io`
 */
export async function run(argv: readonly string[], io: CliIo): Promise<ExitCode> {
  try {
    if (wantsOverview(argv, io)) return await (await import("./overview.ts")).printOverview(io, argv);
    const line = normalised(argv);
    if (isAgentLine(line, io)) {
      const { runAgentLine } = await import("./modes/run-agent.ts");
      return await runAgentLine(line, io);
    }
    const { runCommand } = await import("./command-line.ts");
    return await runCommand(line, io);
  } catch (error) {
    const { reportFailure } = await import("./failure.ts");
    return reportFailure(error, io, wantsJson(argv));
  }
}

/** Where the line could not be read, its words must do. */
export function wantsJson(argv: readonly string[]): boolean {
  return /(^| )--(json|mode[ =](json|rpc))( |$)/.test(argv.join(" "));
}

/** Without a word, what is piped in is the prompt, and a terminal is opened to type in. */
function wantsOverview(argv: readonly string[], io: CliIo): boolean {
  const words = argv.filter((word) => word !== "--json");
  if (argv.length === 0)
    return io.stdin === undefined || (io.stdin.isTTY === true && !isInteractiveTerminal(io));
  return words.length === 1 && helpWords.has(words[0]!);
}

const helpWords: ReadonlySet<string> = new Set(["--help", "-h", "help"]);

/** `bonsai help tree` and `bonsai --help tree` are `bonsai tree --help`. */
function normalised(argv: readonly string[]): readonly string[] {
  const isHelp = helpWords.has(argv[0]!) && (argv.length === 2 || (argv[0] !== "help" && argv.length > 1));
  return isHelp ? [argv[1]!, "--help"] : argv;
}

/**
 * True when a command line is for the agent: its first word is no command.
 * @throws BonsaiError `unknown_command`, when it looks like a command that was mistyped: nothing is sent to a model then.
 */
function isAgentLine(argv: readonly string[], io: CliIo): boolean {
  const [first, ...rest] = argv.filter((word) => word !== "--json");
  if (first === undefined) return argv.length === 0;
  if (commandNames.includes(first)) return false;
  refuseMistyped(first, rest, io);
  return true;
}

const commandNames = grammar.map(({ name }) => name);

function refuseMistyped(first: string, rest: readonly string[], io: CliIo): void {
  // A flag is not a word; which flags there are, the agent's own grammar knows.
  if (first.startsWith("-")) return;
  const meant = nearestWord(first.toLowerCase(), [...commandNames, "help"]);
  const asksHelp = rest.length === 1 && (rest[0] === "--help" || rest[0] === "-h");
  if (meant === undefined ? !asksHelp : !canFollow(meant, rest, io)) return;
  throw new BonsaiError({
    code: "unknown_command",
    message: `Unknown command '${first}'.${meant === undefined ? "" : ` Did you mean ${meant}?`}`,
    hint: "`bonsai --help` lists the commands. `bonsai -p WORDS` sends words to the model, whatever they are.",
  });
}

/**
 * Whether a command could be called with what follows: with its own flags, or with no more words than it takes.
 * Typing a short prompt again costs less than a request that nobody meant.
 */
function canFollow(name: string, rest: readonly string[], io: CliIo): boolean {
  const { args = [], options = [] } = grammar.find((command) => command.name === name) ?? {};
  const flags = new Set(["--help", "-h", ...options.flatMap(({ flags }) => flags.split(/[ ,]+/))]);
  const [next] = rest;
  if (next !== undefined && existsSync(resolve(io.cwd, next))) return true;
  if (rest.some((word) => word.startsWith("-") && flags.has(word.split("=")[0]!))) return true;
  return rest.length <= Math.max(1, args.length);
}
