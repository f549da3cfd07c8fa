import { resolve } from "node:path";
import { bonsaiHome, type ChangedLines, listSessions, type SessionSummary } from "@bonsai-agent/session";
import type { Invocation } from "../invocation.ts";
import { withProgress } from "../progress.ts";
import { sessionsView } from "../views/sessions-view.ts";

export async function run({ options, io, output }: Invocation): Promise<undefined> {
  const home = bonsaiHome({ ...io.env });
  const place = typeof options.cwd === "string" ? { cwd: resolve(io.cwd, options.cwd) } : {};
  const { sessions, skipped } = await withProgress(io, "Listing sessions", async () =>
    listSessions({ home, ...place }),
  );
  const limited = typeof options.limit === "number" ? sessions.slice(0, options.limit) : sessions;
  await output.list(
    () => limited.map(row),
    () => sessionsView({ sessions: limited, skipped, home, width: output.width, nowMs: io.now() }),
  );
}

/** One row of `bonsai sessions --json`, latest activity first. */
export interface SessionRow {
  id: string;
  file: string;
  cwd: string;
  name: string | null;
  firstMessage: string;
  /** What it was about, where that was kept: after the latest run that changed files. */
  summary: string | null;
  /** Files that were changed, and the lines that were added and removed in them. */
  fileCount: number;
  added: number;
  removed: number;
  /** The latest changes, the last one first; of many files, the others are only counted. */
  files: ChangedLines[];
  /** ISO 8601. */
  lastActivity: string;
  sizeBytes: number;
}

function row(session: SessionSummary): SessionRow {
  const { summary = "", fileCount = 0, added = 0, removed = 0, files = [] } = session.digest ?? {};
  return {
    id: session.id,
    file: session.file,
    cwd: session.cwd,
    name: session.name ?? null,
    firstMessage: session.firstWords ?? "",
    summary: summary === "" ? null : summary,
    fileCount,
    added,
    removed,
    files,
    lastActivity: new Date(session.lastActivityMs).toISOString(),
    sizeBytes: session.bytes,
  };
}
