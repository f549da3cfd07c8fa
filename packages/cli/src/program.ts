import { ExitCode } from "./exit-code.ts";
import type { CliIo } from "./io.ts";

/**
 * Runs one command line.
 * @param argv what stands behind `bonsai`
 * @returns the exit code; everything else went to `io`
 */
export async function run(argv: readonly string[], io: CliIo): Promise<ExitCode> {
  try {
    if (wantsOverview(argv)) return await printOverview(io);
    const { runCommand } = await import("./command-line.ts");
    return await runCommand(normalised(argv), io);
  } catch (error) {
    const { reportFailure } = await import("./failure.ts");
    return reportFailure(error, io, argv.includes("--json"));
  }
}

function wantsOverview(argv: readonly string[]): boolean {
  const words = argv.filter((word) => word !== "--json");
  return argv.length === 0 || (words.length === 1 && helpWords.has(words[0]!));
}

async function printOverview(io: CliIo): Promise<ExitCode> {
  const [{ overview }, { Output }] = await Promise.all([
    import("./views/overview.ts"),
    import("./output.ts"),
  ]);
  const output = new Output(io, false);
  output.lines(overview(output.width));
  return ExitCode.done;
}

const helpWords: ReadonlySet<string> = new Set(["--help", "-h", "help"]);

/** `bonsai help tree` and `bonsai --help tree` are `bonsai tree --help`. */
function normalised(argv: readonly string[]): readonly string[] {
  return helpWords.has(argv[0]!) && argv.length > 1 ? [argv[1]!, "--help"] : argv;
}
