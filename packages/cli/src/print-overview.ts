import { ExitCode } from "./exit-code.ts";
import type { CliIo } from "./io.ts";
import { Output } from "./output.ts";
import { overview } from "./views/overview.ts";

/** Prints what `bonsai` says when there is nothing to do. */
export function printOverview(io: CliIo): ExitCode {
  const output = new Output(io, false);
  output.lines(overview(output.width));
  return ExitCode.done;
}
