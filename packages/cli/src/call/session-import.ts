import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { BonsaiError, type Usage } from "@bonsai-agent/messages";
import {
  bonsaiHome,
  cloneSession,
  MemoryStore,
  newSessionFile,
  openSession,
  type Session,
  type SessionHeader,
} from "@bonsai-agent/session";
import { writeSessionFile } from "@bonsai-agent/session/host";
import {
  detectTranscript,
  type ImportedSession,
  type ImportResult,
  importTranscript,
} from "@bonsai-agent/transcripts";
import { FactCounter } from "../views/session-facts.ts";
import type { Invocation } from "./invocation.ts";
import type { CliIo } from "./io.ts";
import { type SessionPlace, sessionFile } from "./session-file.ts";

export interface ImportSessionOptions {
  /** Absolute: a transcript of another agent, or a session. It does not change. */
  path: string;
  place: SessionPlace;
  /** The new session's path. Default: among the recorded ones. */
  file?: string | undefined;
  /** The new session's working folder. Default: that of the source, or `/`. */
  cwd?: string | undefined;
  /** One session of a folder with several. */
  sessionId?: string | undefined;
}

export interface ImportedReport {
  id: string;
  file: string;
  /** `session` for a copied session of Bonsai or pi. */
  format: string;
  program: string;
  cwd: string;
  leafId: string | null;
  entryCount: number;
  counts: Record<string, number>;
  skipped: Record<string, number>;
  models: string[];
  usage: Usage;
  /** Sessions of sub-agents in the transcript, which are not written. */
  subAgentCount: number;
  notices: ImportedNotice[];
}

/** `kind` is the code of a session's own notice. */
export interface ImportedNotice extends Omit<ImportResult["report"]["notices"][number], "kind"> {
  kind: string;
}

/**
 * Imports another agent's transcript, or copies a session that is not recorded, with all branches.
 * @throws BonsaiError `session_exists`, `transcript_is_session` for a recorded session, and the errors of
 *   `importTranscript`
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

/** True for a session outside the folder of recorded sessions. */
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

function importedSessionFile({ cwd, id, timestamp }: SessionHeader, place: SessionPlace): string {
  return newSessionFile({ ...place, cwd, id, now: new Date(timestamp) });
}

/**
 * Imports the transcript that a command names; undefined for a session.
 * @param outcome a sentence for the notice
 * @param path default: the command's first argument
 */
export function transcriptSession(
  invocation: Invocation,
  outcome = "Compacting it as a session.",
  path = sessionFile(invocation),
): ImportResult | undefined {
  const found = detectTranscript(path);
  if (found === undefined || found.format === "session") return undefined;
  const imported = importTranscript({ path });
  invocation.output.notify({
    code: "transcript_read",
    message: `${path} is a transcript of ${found.program}. ${outcome} The transcript does not change.`,
  });
  return imported;
}

/** The default place of an imported session. @throws BonsaiError `output_exists` */
export function unusedSessionFile(imported: ImportedSession, io: CliIo): string {
  const file = importedSessionFile(imported.header, { home: bonsaiHome(io.env) });
  if (!existsSync(file)) return file;
  throw new BonsaiError({
    code: "output_exists",
    message: `This transcript was already imported: ${file}`,
    hint: "Compact that session, or choose another file with -o.",
  });
}

export function inMemory({ header, entries }: ImportedSession): Session {
  const store = new MemoryStore();
  for (const each of [header, ...entries]) store.append(`${JSON.stringify(each)}\n`);
  return openSession({ store });
}
