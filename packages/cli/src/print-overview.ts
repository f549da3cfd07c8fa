import { ExitCode } from "./exit-code.ts";
import { mayBringFlags } from "./extensions/may-bring-flags.ts";
import type { CliIo } from "./io.ts";
import { Output } from "./output.ts";
import { overview } from "./views/overview.ts";

/** What `bonsai` says when it is called without a command; with the flags of the extensions that a call would load. */
export async function printOverview(io: CliIo, argv: readonly string[] = []): Promise<ExitCode> {
  const flags = mayBringFlags(argv, io)
    ? await (await import("./extensions/found-flags.ts")).foundFlags(argv, io)
    : [];
  const output = new Output(io, false);
  output.lines(overview(output.width, flags));
  return ExitCode.done;
}
