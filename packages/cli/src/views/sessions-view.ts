import type { SessionSummary, SkippedFile } from "@bonsai-agent/session";
import { type Line, span } from "./line.ts";
import { age, bytes, count, counted, largest } from "./numbers.ts";
import { oneLine } from "./printable.ts";
import { type Column, table } from "./table.ts";
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
  yield* table(rowsOf({ sessions, width, nowMs }), { columns: columnsOf(sessions, width), width });
  for (const { file, reason } of skipped) yield [span(`! ${file}: ${reason}`, "yellow")];
  if (sessions.length > 0)
    yield* ["", counted(sessions.length, "session")].map((text) => [span(text, "bold")]);
}

function rowsOf({
  sessions,
  width,
  nowMs,
}: Pick<SessionsViewOptions, "sessions" | "width" | "nowMs">): Line[][] {
  const idWidth = shortIdWidth(sessions);
  return sessions.map((session) => [
    [span(session.id.slice(0, idWidth), "cyan")],
    [age(session.lastActivityMs, nowMs)],
    ...(showsBytes(width) ? [[bytes(session.bytes)]] : []),
    ...(showsChanges(sessions, width) ? [changes(session)] : []),
    [...title(session), ...summary(session)],
  ]);
}

function columnsOf(sessions: readonly SessionSummary[], width: number): Column[] {
  const right = { align: "right" as const };
  return [
    {},
    {},
    ...(showsBytes(width) ? [right] : []),
    ...(showsChanges(sessions, width) ? [right] : []),
    { flexible: true },
  ];
}

function showsBytes(width: number): boolean {
  return width >= 60;
}

function showsChanges(sessions: readonly SessionSummary[], width: number): boolean {
  return width >= 80 && sessions.some(({ digest }) => digest !== undefined && digest.fileCount > 0);
}

function title(session: SessionSummary): Line {
  if (session.name !== undefined) return [span(oneLine(session.name), "bold")];
  return [oneLine(session.firstWords ?? "") || span("(empty)", "gray")];
}

/** Gives way first where the screen is narrow: it stands at the end of the line. */
function summary({ digest }: SessionSummary): Line {
  const text = oneLine(digest?.summary ?? "");
  return text === "" ? [] : [span(`  ${text}`, "gray")];
}

function changes({ digest }: SessionSummary): Line {
  if (digest === undefined || digest.fileCount === 0) return [];
  const { added, removed, fileCount } = digest;
  return [
    span(`+${count(added)}`, "green"),
    " ",
    span(`\u2212${count(removed)}`, "red"),
    ` ${counted(fileCount, "file")}`,
  ];
}
