import { ExitCode } from "./exit-code.ts";
import type { CliIo } from "./io.ts";
import { Output } from "./output.ts";
import { overview } from "./views/overview.ts";

/** What `bonsai` says when it is called without a command; with the flags of the extensions that a call would load. */
export async function printOverview(io: CliIo, argv: readonly string[] = []): Promise<ExitCode> {
  const { foundFlags } = await import("./extensions/found-flags.ts");
  const flags = await foundFlags(argv, io);
  const output = new Output(io, false);
  output.lines(overview(output.width, flags));
  return ExitCode.done;
}
