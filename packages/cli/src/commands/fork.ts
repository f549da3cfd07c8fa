import { resolve } from "node:path";
import { bonsaiHome, forkSession, openSession, type Session } from "@bonsai-agent/session";
import type { Invocation } from "../call/invocation.ts";
import { openNamedSession, resolveEntryId } from "../call/session-file.ts";
import { type Line, span } from "../views/line.ts";
import { counted } from "../views/numbers.ts";

/** The JSON of `bonsai session fork`. */
export interface ForkReport {
  /** Of the new session. */
  id: string;
  file: string;
  parentSession: string;
  leafId: string | null;
  entryCount: number;
}

export async function run(invocation: Invocation): Promise<undefined> {
  const { args, options, io, output } = invocation;
  const origin = openNamedSession(invocation);
  const file = forkSession(origin, {
    at: resolveEntryId(origin, args[1]!),
    home: bonsaiHome(io.env),
    now: new Date(io.now()),
    ...(typeof options.output === "string" ? { file: resolve(io.cwd, options.output) } : {}),
  });
  const fork = openSession(file);
  const report: ForkReport = {
    id: fork.id,
    file,
    parentSession: origin.file!,
    leafId: fork.leafId,
    entryCount: entryCount(fork),
  };
  output.result(report, () => lines(report));
}

function entryCount(session: Session): number {
  let count = 0;
  for (const _ of session.scan()) count += 1;
  return count;
}

function lines(report: ForkReport): Line[] {
  return [
    [span("New session", ["bold", "green"]), ` with ${counted(report.entryCount, "entry", "entries")}`],
    [span("  id    ", "gray"), report.id],
    [span("  file  ", "gray"), report.file],
    [span("  of    ", "gray"), report.parentSession],
  ];
}
