import type { ProblemRow } from "../reports/problem-row.ts";
import { type Line, span } from "./line.ts";
import { count, counted } from "./numbers.ts";
import { printable } from "./printable.ts";
import { wrap } from "./text-width.ts";

export interface DoctorViewOptions {
  problems: readonly ProblemRow[];
  file: string;
  /** The repaired copy, when one was written. */
  copy: string | undefined;
  width: number;
}

/** What is wrong in a file, line by line, and what a repair does about it. */
export function* doctorView({ problems, file, copy, width }: DoctorViewOptions): Generator<Line> {
  if (problems.length === 0) yield [span("✓ ", ["bold", "green"]), `${file} is sound.`];
  else yield [span(counted(problems.length, "problem"), ["bold", "yellow"]), ` in ${file}`];
  for (const problem of problems) yield* problemLines(problem, width);
  if (problems.length > 0 || copy !== undefined) yield [];
  if (copy !== undefined) yield ["The repaired copy is ", span(copy, "cyan")];
  else if (problems.length > 0) {
    const hint = "The session opens as it is; `--repair` writes a copy without the damage.";
    for (const text of wrap(hint, width)) yield [span(text, "gray")];
  }
}

function* problemLines({ line, kind, entryId, message, repair }: ProblemRow, width: number): Generator<Line> {
  const place = entryId === undefined ? "" : ` at ${entryId}`;
  yield [];
  yield [span(`line ${count(line)}`, "bold"), span(`  ${kind}${place}`, "yellow")];
  for (const text of wrap(printable(message), width - 2)) yield [`  ${text}`];
  for (const text of wrap(`→ ${printable(repair)}`, width - 2)) yield [span(`  ${text}`, "gray")];
}
