import type { SessionSummary, SkippedFile } from "@bonsai-agent/session";
import { type Line, span } from "./line.ts";
import { age, bytes, counted, largest } from "./numbers.ts";
import { oneLine } from "./printable.ts";
import { table } from "./table.ts";
import { wrap } from "./text-width.ts";

export interface SessionsViewOptions {
  sessions: readonly SessionSummary[];
  skipped: readonly SkippedFile[];
  home: string;
  width: number;
  nowMs: number;
}

const minIdWidth = 8;

/** As many characters of the ids as tell the listed ones apart. */
function shortIdWidth(sessions: readonly SessionSummary[]): number {
  const ids = new Set(sessions.map(({ id }) => id));
  const longest = largest(
    sessions.map(({ id }) => id.length),
    minIdWidth,
  );
  for (let width = minIdWidth; width < longest; width += 1) {
    if (new Set([...ids].map((id) => id.slice(0, width))).size === ids.size) return width;
  }
  return longest;
}

/** Recorded sessions, one a line; on a wide screen with the folder they worked in. */
export function* sessionsView({
  sessions,
  skipped,
  home,
  width,
  nowMs,
}: SessionsViewOptions): Generator<Line> {
  if (sessions.length === 0) {
    for (const text of wrap(`No sessions in ${home}.`, width)) yield [text];
    const hint = "Make one of another agent's transcript with `bonsai import`.";
    for (const text of wrap(hint, width)) yield [span(text, "gray")];
  }
  const idWidth = shortIdWidth(sessions);
  const rows = sessions.map((session): Line[] => [
    [span(session.id.slice(0, idWidth), "cyan")],
    [age(session.lastActivityMs, nowMs)],
    ...(width < 60 ? [] : [[bytes(session.bytes)]]),
    title(session),
  ]);
  const columns = [{}, {}, ...(width < 60 ? [] : [{ align: "right" as const }]), { flexible: true }];
  yield* table(rows, { columns, width });
  for (const { file, reason } of skipped) yield [span(`! ${file}: ${reason}`, "yellow")];
  if (sessions.length > 0)
    yield* ["", counted(sessions.length, "session")].map((text) => [span(text, "bold")]);
}

function title(session: SessionSummary): Line {
  if (session.name !== undefined) return [span(oneLine(session.name), "bold")];
  return [oneLine(session.firstWords ?? "") || span("(empty)", "gray")];
}
