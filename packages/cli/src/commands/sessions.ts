import { resolve } from "node:path";
import { listSessions, type SessionSummary } from "@bonsai-agent/session";
import { databaseUrl, withDatabase } from "../call/database.ts";
import type { Invocation } from "../call/invocation.ts";
import { withProgress } from "../call/output.ts";
import { printedSecrets } from "../call/printed-secrets.ts";
import { sessionPlace } from "../call/session-file.ts";
import { type Line, paragraph, span, table } from "../views/line.ts";
import { age, bytes, count, counted, largest } from "../views/numbers.ts";
import { forkWords } from "../views/session-facts.ts";
import { oneLine } from "../views/terminal-text.ts";

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, io, output } = invocation;
  if (options.sessionDir === undefined && databaseUrl(invocation) !== undefined)
    return listShared(invocation);
  const from = sessionPlace({ io, options });
  const place = typeof options.cwd === "string" ? { cwd: resolve(io.cwd, options.cwd) } : {};
  const { sessions, skipped } = await withProgress(io, "Listing sessions", async () =>
    listSessions({ ...from, ...place }),
  );
  const limited = printedSecrets({ io, options }).value(
    typeof options.limit === "number" ? sessions.slice(0, options.limit) : sessions,
  );
  await output.list(
    () => limited.map(row),
    () =>
      sessionsView(limited, skipped, {
        place: from.folder ?? from.home,
        width: output.width,
        nowMs: io.now(),
      }),
  );
}

async function listShared(invocation: Invocation): Promise<undefined> {
  const { options, io, output } = invocation;
  const sessions = await withDatabase(invocation, (database) =>
    database.sessions.list({
      ...(typeof options.cwd === "string" && { cwd: resolve(io.cwd, options.cwd) }),
      ...(typeof options.limit === "number" && { limit: options.limit }),
    }),
  );
  const shown = printedSecrets({ io, options }).value(sessions);
  const rows = shown.map((session): Line[] => [
    [span(session.id, "cyan")],
    [age(session.lastActivityMs, io.now())],
    [bytes(session.bytes)],
    [session.owner ?? ""],
    [oneLine(session.name ?? session.firstWords ?? "") || span("(empty)", "gray")],
  ]);
  output.result(shown, () => sharedView(rows, output.width));
  return undefined;
}

function* sharedView(rows: readonly Line[][], width: number): Generator<Line> {
  if (rows.length === 0) {
    yield* paragraph("The database has no such sessions. Start one with `bonsai --database URL`.", width);
    return;
  }
  yield* table(rows, { columns: [{}, {}, {}, {}, { flexible: true }], width });
  yield [];
  yield [span(counted(rows.length, "session"), "bold")];
}

/** One row of `bonsai session list --json`, latest activity first. */
export type SessionRow = ReturnType<typeof row>;

function row(session: SessionSummary) {
  const { summary = "", fileCount = 0, added = 0, removed = 0, files = [] } = session.digest ?? {};
  return {
    id: session.id,
    file: session.file,
    cwd: session.cwd,
    name: session.name ?? null,
    firstMessage: session.firstWords ?? "",
    parentSession: session.parentSession ?? null,
    summary: summary === "" ? null : summary,
    fileCount,
    added,
    removed,
    files,
    lastActivity: new Date(session.lastActivityMs).toISOString(),
    sizeBytes: session.bytes,
  };
}

const minIdWidth = 8;

/** Characters that tell the listed ids apart. */
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

function* sessionsView(
  sessions: readonly SessionSummary[],
  skipped: ReturnType<typeof listSessions>["skipped"],
  { place, width, nowMs }: { place: string; width: number; nowMs: number },
): Generator<Line> {
  if (sessions.length === 0) {
    yield* paragraph(`No sessions in ${place}.`, width);
    yield* paragraph("Import another agent's transcript with `bonsai session import FILE`.", width, "gray");
  }
  yield* sessionTable(sessions, width, nowMs);
  for (const { file, reason } of skipped) yield [span(`! ${file}: ${reason}`, "yellow")];
  if (sessions.length > 0)
    yield* ["", counted(sessions.length, "session")].map((text) => [span(text, "bold")]);
}

function sessionTable(sessions: readonly SessionSummary[], width: number, nowMs: number): Iterable<Line> {
  const idWidth = shortIdWidth(sessions);
  const showsBytes = width >= 60;
  const showsChanges =
    width >= 80 && sessions.some(({ digest }) => digest !== undefined && digest.fileCount > 0);
  const rows = sessions.map((session) => [
    [span(session.id.slice(0, idWidth), "cyan")],
    [age(session.lastActivityMs, nowMs)],
    ...(showsBytes ? [[bytes(session.bytes)]] : []),
    ...(showsChanges ? [changes(session)] : []),
    [...title(session), ...fork(session), ...summary(session)],
  ]);
  const right = { align: "right" } as const;
  const numbers = [showsBytes, showsChanges].filter(Boolean).map(() => right);
  return table(rows, { columns: [{}, {}, ...numbers, { flexible: true }], width });
}

function title(session: SessionSummary): Line {
  if (session.name !== undefined) return [span(oneLine(session.name), "bold")];
  return [oneLine(session.firstWords ?? "") || span("(empty)", "gray")];
}

function fork({ parentSession }: SessionSummary): Line {
  return parentSession === undefined ? [] : [span(`  ${oneLine(forkWords(parentSession))}`, "gray")];
}

/** The end of the line, which narrow screens cut first. */
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
