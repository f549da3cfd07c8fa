import { type Stats, statSync } from "node:fs";
import { addUsage, BonsaiError, emptyUsage, type Usage } from "@bonsai-agent/messages";
import type { Entry, SessionHeader } from "@bonsai-agent/session";
import { writeSessionFile } from "@bonsai-agent/session/host";
import { sessionOf } from "./entries.ts";
import {
  type DetectedTranscript,
  detectTranscript,
  readTranscript,
  type TranscriptFormat,
} from "./formats.ts";
import { type ImportNotice, NoticeLog } from "./import/notices.ts";
import { pairToolCalls } from "./import/pair-tool-calls.ts";
import type { Step, Transcript } from "./import/step.ts";

export interface ImportOptions {
  /** A transcript file, or OpenCode's storage folder. Only ever read. */
  path: string;
  /** The file to write. Default: none. */
  into?: { file: string };
  /** The session's folder. Default: the transcript's. */
  cwd?: string;
  /** The session to read from a storage folder with several. */
  sessionId?: string;
}

export interface ImportedSession {
  header: SessionHeader;
  entries: Entry[];
  /** The current position. */
  leafId: string;
  /** By entry id: its line in the transcript, if it has lines. */
  lines: ReadonlyMap<string, number>;
}

export interface ImportReport {
  format: TranscriptFormat;
  program: string;
  /** The other program's id of the session. */
  sessionId: string;
  /** Number of entries by type, and of messages by role. */
  counts: Record<string, number>;
  /** Number of skipped records by type. */
  skipped: Record<string, number>;
  /** `provider/model`, in order of appearance. */
  models: string[];
  /** Each request once. Cost where the transcript has it. */
  usage: Usage;
  notices: ImportNotice[];
}

export interface ImportResult extends ImportedSession {
  /** The file that was written. */
  file?: string;
  /** Sub-agents of the same transcript, each as a session of its own. Not written. */
  subAgents: ImportedSession[];
  report: ImportReport;
}

/**
 * Reads another agent's transcript into a session. The same transcript gives the same session each
 * time, ids included. Never writes to the transcript.
 * @throws BonsaiError `transcript_not_found`, `transcript_not_a_file`, `transcript_unknown`, `transcript_empty`,
 *   `transcript_is_session`, `transcript_ambiguous`, `session_exists`, `session_not_created`.
 */
export function importTranscript(options: ImportOptions): ImportResult {
  const { format, program } = recognised(options.path);
  const notices = new NoticeLog();
  const transcript = readTranscript(format, { ...options, notices });
  if (transcript.list.steps.length === 0) throw emptyTranscript(options.path, program);
  const imported = importedSession(transcript, format, options.cwd);
  const { header, entries } = imported;
  const subAgents = (transcript.subAgents ?? []).map((each) =>
    importedSession(each, format, options.cwd ?? transcript.cwd),
  );
  const skipped = Object.fromEntries([...transcript.list.skipped].sort(([a], [b]) => (a < b ? -1 : 1)));
  const { counts, models, usage } = totalsOf(entries);
  const origin = { format, program, sessionId: transcript.id };
  const report = { ...origin, counts, skipped, models, usage, notices: notices.all() };
  if (options.into === undefined) return { ...imported, subAgents, report };
  const { file } = options.into;
  writeSessionFile({ file, header, entries });
  return { ...imported, subAgents, report, file };
}

export function importedSession(
  transcript: Transcript,
  format: string,
  cwd: string | undefined,
): ImportedSession {
  const { notices } = transcript.list;
  notices.place = undefined;
  const { steps, leaf } = pairToolCalls(transcript.list.steps, transcript.leaf, notices);
  const folder = cwd ?? transcript.cwd;
  if (cwd === undefined && (folder === undefined || folder === "/")) notices.add("cwd_unknown");
  for (const { source } of otherBranches(steps, leaf)) notices.add("branches", source);
  return sessionOf({ transcript: { ...transcript, leaf }, steps, format, cwd: folder ?? "/" });
}

/** The first step of each branch that leaves the others, except for those on the way to the leaf. */
function otherBranches(steps: readonly Step[], leaf: string | null): Step[] {
  const byKey = new Map(steps.map((step) => [step.key, step]));
  const current = new Map<string | null, string>();
  for (let step = leaf === null ? undefined : byKey.get(leaf); step !== undefined; ) {
    current.set(step.parent, step.key);
    step = step.parent === null ? undefined : byKey.get(step.parent);
  }
  return steps.filter(({ key, parent }) => {
    const first = current.get(parent) ?? key;
    current.set(parent, first);
    // A child of the leaf is no branch, such as a mask that was recorded later.
    return first !== key && (parent === null || parent !== leaf);
  });
}

/** Counts the entries, models and tokens of a session. */
function totalsOf(entries: readonly Entry[]): Pick<ImportReport, "counts" | "models" | "usage"> {
  const counts: Record<string, number> = {};
  const count = (name: string) => {
    counts[name] = (counts[name] ?? 0) + 1;
  };
  const models = new Set<string>();
  let usage = emptyUsage();
  for (const entry of entries) {
    count(entry.type);
    if ("usage" in entry && entry.usage !== undefined) usage = addUsage(usage, entry.usage);
    if (entry.type !== "message") continue;
    const { message } = entry;
    count(message.role);
    if (message.role !== "assistant") continue;
    usage = addUsage(usage, message.usage);
    if (message.stopReason !== "error") models.add(`${message.provider}/${message.model}`);
  }
  return { counts, models: [...models], usage };
}

/** The facts of a file or folder that exists. Reading from a pipe would wait for its writer. */
export function checkedStats(path: string): Stats {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined)
    throw new BonsaiError({
      code: "transcript_not_found",
      message: `${path} does not exist.`,
      hint: "Give the path of a transcript, for example under ~/.claude/projects or ~/.codex/sessions.",
    });
  if (!stats.isFile() && !stats.isDirectory())
    throw new BonsaiError({
      code: "transcript_not_a_file",
      message: `${path} is a pipe, a socket or a device, not a file or folder.`,
      hint: "Write the transcript to a file first, then import the file.",
    });
  return stats;
}

function recognised(path: string): DetectedTranscript {
  const stats = checkedStats(path);
  const detected = detectTranscript(path);
  if (detected !== undefined) return detected;
  if (stats.size === 0) throw emptyTranscript(path, "any program");
  throw new BonsaiError({
    code: "transcript_unknown",
    message: `${path} is not a transcript of a known program.`,
    hint: "Bonsai imports transcripts of Claude Code, Codex, OpenCode, Gemini CLI and Qwen Code.",
  });
}

function emptyTranscript(path: string, program: string): BonsaiError {
  return new BonsaiError({
    code: "transcript_empty",
    message: `${path} contains no messages from ${program}.`,
    hint: "Choose another transcript.",
  });
}
