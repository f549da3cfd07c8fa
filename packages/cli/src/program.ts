import { isAgentLine } from "./agent-line.ts";
import type { ExitCode } from "./exit-code.ts";
import { type CliIo, canBeLivedIn } from "./io.ts";

/**
 * Runs one command line.
 * @param argv what stands behind `bonsai`
 * @returns the exit code; everything else went to `io`
 */
export async function run(argv: readonly string[], io: CliIo): Promise<ExitCode> {
  try {
    if (wantsOverview(argv, io)) return await (await import("./print-overview.ts")).printOverview(io, argv);
    const line = normalised(argv);
    if (isAgentLine(line, io)) {
      const { runAgentLine } = await import("./work/run-agent.ts");
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
  if (argv.length === 0) return io.stdin === undefined || (io.stdin.isTTY === true && !canBeLivedIn(io));
  return words.length === 1 && helpWords.has(words[0]!);
}

const helpWords: ReadonlySet<string> = new Set(["--help", "-h", "help"]);

/** `bonsai help tree` and `bonsai --help tree` are `bonsai tree --help`. */
function normalised(argv: readonly string[]): readonly string[] {
  const isHelp = helpWords.has(argv[0]!) && (argv.length === 2 || (argv[0] !== "help" && argv.length > 1));
  return isHelp ? [argv[1]!, "--help"] : argv;
}
