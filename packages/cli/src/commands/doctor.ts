import { BonsaiError } from "@bonsai-agent/messages";
import { type Problem, repairSession } from "@bonsai-agent/session";
import type { Invocation } from "../invocation.ts";
import { outputFile } from "../output-file.ts";
import type { ProblemRow } from "../reports/problem-row.ts";
import { openNamedSession } from "../session-file.ts";
import { doctorView } from "../views/doctor-view.ts";

/** Prints an array of problems; empty for a sound file. A repaired copy is told of on stderr. */
export async function run(invocation: Invocation): Promise<undefined> {
  const { options, output } = invocation;
  if (options.output !== undefined && options.repair !== true) throw outputWithoutRepair();
  const named = outputFile(invocation);
  const session = openNamedSession(invocation);
  const file = session.file!;
  const problems = session.problems().map(problemRow);
  session.close();
  const copy = options.repair === true ? (named ?? defaultCopy(file, problems)) : undefined;
  if (copy !== undefined) repairSession(file, copy);
  await output.list(
    () => problems,
    () => doctorView({ problems, file, copy, width: output.width }),
  );
  if (copy !== undefined && output.wantsJson) output.notify({ code: "repaired_copy", message: copy });
}

function problemRow({ line, kind, entryId, message, repair }: Problem): ProblemRow {
  return { line, kind, ...(entryId === undefined ? {} : { entryId }), message, repair };
}

/** A sound file needs no copy, unless one was asked for by name. */
function defaultCopy(file: string, problems: readonly unknown[]): string | undefined {
  return problems.length === 0 ? undefined : `${file.replace(/\.jsonl$/, "")}.repaired.jsonl`;
}

function outputWithoutRepair(): BonsaiError {
  return new BonsaiError({
    code: "wrong_usage",
    message: "-o names a repaired copy, and no repair was asked for.",
    hint: "Add --repair, or leave -o out.",
  });
}
