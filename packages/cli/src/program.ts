import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import type { ExitCode } from "./call/invocation.ts";
import { type CliIo, isInteractiveTerminal } from "./call/io.ts";
import {
  findCommand,
  findGroup,
  isCommandWord,
  nearestCommand,
  nearestInGroup,
} from "./command-line/command-words.ts";
import { insteadOfCommand } from "./command-line/pi-words.ts";

/**
 * Runs one command line.
 * @param argv the words after `bonsai`
 * @returns the exit code; everything else went to `io`
 */
export async function run(argv: readonly string[], io: CliIo): Promise<ExitCode> {
  try {
    // Load the library on demand: it takes a tenth of the start.
    if (hasProxy(io)) (await import("./call/proxy.ts")).dispatchThroughProxies(io.env);
    if (wantsOverview(argv, io)) return (await import("./command-line/overview.ts")).printOverview(io);
    if (argv.length === 2 && argv[0] === "help" && argv[1] === "flags")
      return (await import("./command-line/overview.ts")).printFlags(io);
    const line = helpLast(argv);
    if (isAgentLine(line, io)) {
      const { runAgentLine } = await import("./run-agent.ts");
      return await runAgentLine(line, io);
    }
    const { runCommand } = await import("./command-line/command-line.ts");
    return await runCommand(line, io);
  } catch (error) {
    const { reportFailure } = await import("./call/failure.ts");
    return reportFailure(error, io, wantsJson(argv));
  }
}

function hasProxy({ env }: CliIo): boolean {
  return Object.entries(env).some(([name, value]) => value && /^(https?|all)_proxy$/i.test(name));
}

/** Reads the words themselves, because the line may not parse. */
export function wantsJson(argv: readonly string[]): boolean {
  return /(^| )--(json|mode[ =](json|rpc|acp))( |$)/.test(argv.join(" "));
}

/** Without words, piped input is the prompt, and a terminal opens the screen. */
function wantsOverview(argv: readonly string[], io: CliIo): boolean {
  const words = argv.filter((word) => word !== "--json");
  if (argv.length === 0)
    return io.stdin === undefined || (io.stdin.isTTY === true && !isInteractiveTerminal(io));
  return words.length === 1 && helpWords.has(words[0]!);
}

const helpWords: ReadonlySet<string> = new Set(["--help", "-h", "help"]);

/** `bonsai help session tree` and `bonsai --help session tree` are `bonsai session tree --help`. */
function helpLast(argv: readonly string[]): readonly string[] {
  const [first, ...rest] = argv;
  if (!helpWords.has(first!) || rest.length === 0) return argv;
  // `bonsai help me with this` is a prompt.
  const isCommand = findCommand(rest)?.rest.every((word) => word.startsWith("-")) === true;
  const isPrompt = first === "help" && rest.length > 1 && !isCommand;
  return isPrompt ? argv : [...rest, "--help"];
}

/**
 * True if the first word is no command.
 * @throws BonsaiError `unknown_command` for a mistyped command, which must not reach a model
 */
function isAgentLine(argv: readonly string[], io: CliIo): boolean {
  const [first, ...rest] = argv.filter((word) => word !== "--json");
  if (first === undefined) return argv.length === 0;
  if (isCommandWord(first)) return false;
  rejectTypo(first, rest, io);
  return true;
}

function rejectTypo(first: string, rest: readonly string[], io: CliIo): void {
  if (first === "" || first.startsWith("-")) return;
  const instead = insteadOfCommand(first, rest);
  if (instead !== undefined)
    throw new BonsaiError({
      code: "unknown_command",
      message: `Unknown command '${first}'.`,
      hint: `${instead} To send these words to the model, run \`bonsai -p WORDS\`.`,
    });
  const nearest = nearestCommand(first);
  const asksHelp = rest.length === 1 && (rest[0] === "--help" || rest[0] === "-h");
  if (nearest === undefined ? !asksHelp : !canFollow(nearest, rest, io)) return;
  throw new BonsaiError({
    code: "unknown_command",
    message: `Unknown command '${first}'.${nearest === undefined ? "" : ` Did you mean ${nearest}?`}`,
    hint: "Run `bonsai --help` to list the commands. To send these words to the model, run `bonsai -p WORDS`.",
  });
}

/**
 * True if the command accepts these words: its flags, a file, or its number of arguments. A wrong guess costs a
 * typed prompt, not a request.
 */
function canFollow(name: string, rest: readonly string[], io: CliIo): boolean {
  const [next] = rest;
  const group = findGroup(name);
  if (group !== undefined) return next === undefined || nearestInGroup(group, next) !== undefined;
  const { args = [], options = [] } = findCommand(name.split(" "))?.form ?? {};
  const flags = new Set(["--help", "-h", ...options.flatMap(({ flags }) => flags.split(/[ ,]+/))]);
  if (next !== undefined && existsSync(resolve(io.cwd, next))) return true;
  if (rest.some((word) => word.startsWith("-") && flags.has(word.split("=")[0]!))) return true;
  return rest.length <= Math.max(1, args.length);
}
