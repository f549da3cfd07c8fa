import { dirname } from "node:path";
import type { Usage } from "@bonsai-agent/messages";
import { cloneSession, newSessionFile, openSession, type SessionHeader } from "@bonsai-agent/session";
import { writeSessionFile } from "@bonsai-agent/session/host";
import { detectTranscript, type ImportResult, importTranscript } from "@bonsai-agent/transcripts";
import { FactCounter } from "../views/session-facts.ts";
import type { SessionPlace } from "./session-file.ts";

export interface ImportSessionOptions {
  /** Absolute: another agent's transcript, or a session. It stays as it is. */
  path: string;
  /** Where recorded sessions are. */
  place: SessionPlace;
  /** Where it goes instead; absolute. */
  file?: string | undefined;
  /** The new session's folder. Default: that of the file; of a transcript that names none, `/`. */
  cwd?: string | undefined;
  /** Which session of a folder that holds several. */
  sessionId?: string | undefined;
}

/** What was imported, and what the import had to deal with. */
export interface ImportedReport {
  id: string;
  /** The session that was written. */
  file: string;
  /** `session` for one of Bonsai or pi, which was copied. */
  format: string;
  program: string;
  cwd: string;
  leafId: string | null;
  entryCount: number;
  counts: Record<string, number>;
  skipped: Record<string, number>;
  models: string[];
  usage: Usage;
  /** Sub-agents' sessions inside the same transcript, which are not written. */
  subAgentCount: number;
  notices: ImportedNotice[];
}

/** Of a transcript, or of a session that is damaged: then with the code of the session's own notice. */
export interface ImportedNotice extends Omit<ImportResult["report"]["notices"][number], "kind"> {
  kind: string;
}

/**
 * Makes a recorded session of another agent's transcript, or of a session that is not among the recorded ones: its copy,
 * with all branches.
 * @throws BonsaiError `session_exists`: what was imported before is not written over; what `importTranscript` throws,
 *   `transcript_is_session` for a session that is recorded already
 */
export function importSession(options: ImportSessionOptions): ImportedReport {
  const { path, place, cwd, sessionId } = options;
  if (isForeignSession(options)) return copiedSession(options);
  const imported = importTranscript({
    path,
    ...(cwd !== undefined && { cwd }),
    ...(sessionId !== undefined && { sessionId }),
  });
  const { header, entries, leafId, report, subAgents } = imported;
  const file = options.file ?? importedSessionFile(header, place);
  writeSessionFile({ file, header, entries });
  const { format, program, counts, skipped, models, usage, notices } = report;
  return {
    ...{ id: header.id, file, format, program, cwd: header.cwd, leafId, entryCount: entries.length },
    ...{ counts, skipped, models, usage, subAgentCount: subAgents.length, notices },
  };
}

/** A session that lies elsewhere than it would by itself. */
function isForeignSession({ path, place, cwd, file }: ImportSessionOptions): boolean {
  if (detectTranscript(path)?.format !== "session") return false;
  if (file !== undefined) return true;
  const session = openSession(path);
  try {
    const own = { ...place, cwd: cwd ?? session.cwd, id: session.id, now: new Date(0) };
    return dirname(newSessionFile(own)) !== dirname(path);
  } finally {
    session.close();
  }
}

function copiedSession({ path, place, cwd, file }: ImportSessionOptions): ImportedReport {
  const notices: ImportedNotice[] = [];
  const onNotice = ({ code, message }: { code: string; message: string }) =>
    notices.push({ kind: code, message, count: 1, lines: [], records: [] });
  const origin = openSession(path, { onNotice });
  try {
    const to = file === undefined ? place : { file };
    return reportOf(cloneSession(origin, { ...to, ...(cwd !== undefined && { cwd }) }), notices);
  } finally {
    origin.close();
  }
}

function reportOf(file: string, notices: ImportedNotice[]): ImportedReport {
  const copy = openSession(file);
  try {
    const counter = new FactCounter(copy.header);
    for (const { entry } of copy.scan()) counter.add(entry);
    const { entryCount, counts, usage, models } = counter.facts();
    const { id, cwd, leafId } = copy;
    return {
      ...{ id, file, format: "session", program: "Bonsai or pi", cwd, leafId, entryCount },
      ...{ counts, skipped: {}, models: models.map(({ model }) => model), usage },
      ...{ subAgentCount: 0, notices },
    };
  } finally {
    copy.close();
  }
}

/** Where an imported session belongs when nobody names a place. */
export function importedSessionFile({ cwd, id, timestamp }: SessionHeader, place: SessionPlace): string {
  return newSessionFile({ ...place, cwd, id, now: new Date(timestamp) });
}
