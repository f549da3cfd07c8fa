import { bonsaiHome, listSessions } from "@bonsai-agent/session";
import { ExitCode } from "../exit-code.ts";
import type { AgentCall } from "../invocation.ts";
import { fitLine, type Line, span } from "../views/line.ts";
import { age } from "../views/numbers.ts";
import { oneLine } from "../views/printable.ts";

const listed = 10;

/** What `-r` without an id prints: the latest sessions of this folder, and how to name one. */
export function listToResume({ io, output }: AgentCall): ExitCode {
  const { sessions } = listSessions({ home: bonsaiHome({ ...io.env }), cwd: io.cwd });
  const latest = sessions.slice(0, listed);
  const rows = latest.map(({ id, name, firstWords, lastActivityMs }) => ({
    id,
    title: name ?? firstWords ?? "",
    lastActivity: new Date(lastActivityMs).toISOString(),
  }));
  output.result(rows, () => [
    ...latest.map(({ id, lastActivityMs }, at): Line => {
      const when = age(lastActivityMs, io.now()).padEnd(14);
      const line: Line = [span(id, "cyan"), "  ", span(when, "gray"), " ", oneLine(rows[at]!.title)];
      return fitLine(line, output.width);
    }),
    ...(latest.length === 0
      ? [["No session was recorded in this folder; `bonsai sessions` lists those of all folders."]]
      : [[], [`Go on with one: bonsai -r ${latest[0]!.id.slice(0, 8)}`]]),
  ]);
  return ExitCode.done;
}
