import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { addUsage, BonsaiError, emptyUsage, type Usage } from "@bonsai-agent/messages";
import { type Entry, type SessionHeader, writeSessionFile } from "@bonsai-agent/session";
import { readClaudeCode } from "./claude-code.ts";
import { readCodex } from "./codex.ts";
import { sessionOf } from "./entries.ts";
import { readGemini } from "./gemini.ts";
import {
  type Fields,
  fieldsAt,
  isFields,
  type JsonLine,
  nameOf,
  objectsOfLine,
  readJsonFile,
  readJsonLines,
  stringAt,
} from "./json-lines.ts";
import { type ImportNotice, NoticeLog } from "./notices.ts";
import { readOpenCode } from "./opencode.ts";
import { exportedSession, storageFolder, storedSession } from "./opencode-records.ts";
import { pairToolCalls } from "./pair-tool-calls.ts";
import { readQwen } from "./qwen.ts";
import type { Step, Transcript } from "./step.ts";

export interface ImportOptions {
  /** A transcript file, or OpenCode's storage folder. Only ever read. */
  path: string;
  /** Where to write the session; without it nothing is written. */
  into?: { file: string };
  /** The session's folder, where the transcript names none or another is wanted. */
  cwd?: string;
  /** Which session of a storage folder that holds several. */
  sessionId?: string;
}

export interface ImportedSession {
  header: SessionHeader;
  entries: Entry[];
  /** The current position. */
  leafId: string;
}

export interface ImportReport {
  format: TranscriptFormat;
  program: string;
  /** The other program's id of the session. */
  sessionId: string;
  /** How many there are of each entry type, and of each message role. */
  counts: Record<string, number>;
  /** How many records of each type have no place in a session. */
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
  /** Sub-agents whose messages stand in the same transcript, each as a session of its own. Not written. */
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
  const transcript = READERS[format](options, new NoticeLog());
  if (transcript.steps.length === 0) throw emptyTranscript(options.path, program);
  const imported = importedSession(transcript, format, options.cwd);
  const subAgents = transcript.subAgents.map((each) =>
    importedSession(each, format, options.cwd ?? transcript.cwd),
  );
  const result: ImportResult = {
    ...imported,
    subAgents,
    report: reportOf({ transcript, format, program, entries: imported.entries }),
  };
  if (options.into === undefined) return result;
  writeSessionFile({ file: options.into.file, header: imported.header, entries: imported.entries });
  return { ...result, file: options.into.file };
}

/** How each format is read. */
const READERS: Record<TranscriptFormat, (options: ImportOptions, notices: NoticeLog) => Transcript> = {
  session: ({ path }) => {
    throw isSession(path);
  },
  "claude-code": ({ path }, notices) => readClaudeCode(readJsonLines(path, notices), notices),
  codex: ({ path }, notices) => readCodex(readJsonLines(path, notices), notices),
  qwen: ({ path }, notices) => readQwen(readJsonLines(path, notices), notices),
  gemini: ({ path }, notices) => {
    const transcript = readGemini(recordingLines(path, notices), notices);
    return { ...transcript, cwd: transcript.cwd ?? projectRoot(path) };
  },
  "opencode-export": ({ path }, notices) => readOpenCode(exportedSession(readJsonFile(path) ?? {}), notices),
  "opencode-storage": ({ path, sessionId }, notices) =>
    readOpenCode(storedSession({ folder: storageFolder(path)!, path, sessionId, notices }), notices),
};

/** An old recording is one JSON object, perhaps over many lines. */
function recordingLines(path: string, notices: NoticeLog): JsonLine[] {
  const whole = readJsonFile(path);
  return isFields(whole) ? [{ line: 1, value: whole }] : readJsonLines(path, notices);
}

/** Gemini CLI names a project's folder in a file beside the folder of its chats. */
function projectRoot(path: string): string | undefined {
  const marker = join(dirname(dirname(resolve(path))), ".project_root");
  if (!existsSync(marker)) return undefined;
  return readFileSync(marker, "utf8").trim() || undefined;
}

function importedSession(transcript: Transcript, format: string, cwd: string | undefined): ImportedSession {
  const { notices } = transcript;
  notices.place = undefined;
  const { steps, leaf } = pairToolCalls({ steps: transcript.steps, leaf: transcript.leaf, notices });
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
    if (!current.has(parent)) current.set(parent, key);
    return first !== key && !isLeafEnd(parent, leaf);
  });
}

/** What hangs on the leaf itself goes on from there, such as a mask that was recorded later. */
function isLeafEnd(parent: string | null, leaf: string | null): boolean {
  return parent !== null && parent === leaf;
}

function reportOf(options: {
  transcript: Transcript;
  format: TranscriptFormat;
  program: string;
  entries: readonly Entry[];
}): ImportReport {
  const { transcript, format, program, entries } = options;
  const counts: Record<string, number> = {};
  const models = new Set<string>();
  let usage = emptyUsage();
  for (const entry of entries) {
    for (const name of countedNames(entry)) counts[name] = (counts[name] ?? 0) + 1;
    if ("usage" in entry && entry.usage !== undefined) usage = addUsage(usage, entry.usage);
    if (entry.type !== "message" || entry.message.role !== "assistant") continue;
    usage = addUsage(usage, entry.message.usage);
    if (entry.message.stopReason === "error") continue;
    models.add(`${entry.message.provider}/${entry.message.model}`);
  }
  const skipped = Object.fromEntries([...transcript.skipped].sort(([a], [b]) => (a < b ? -1 : 1)));
  const notices = transcript.notices.all();
  return { format, program, sessionId: transcript.id, counts, skipped, models: [...models], usage, notices };
}

function countedNames(entry: Entry): string[] {
  return entry.type === "message" ? ["message", entry.message.role] : [entry.type];
}

function recognised(path: string): { format: TranscriptFormat; program: string } {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw notFound(path);
  // To read from a pipe would wait for its writer.
  if (!stats.isFile() && !stats.isDirectory()) throw notAFile(path);
  const detected = detectTranscript(path);
  if (detected === undefined) throw stats.size === 0 ? emptyTranscript(path, "any program") : unknown(path);
  return detected;
}

function notFound(path: string): BonsaiError {
  return new BonsaiError({
    code: "transcript_not_found",
    message: `There is no file or folder ${path}.`,
    hint: "Give the path of a transcript, for instance under ~/.claude/projects or ~/.codex/sessions.",
  });
}

function notAFile(path: string): BonsaiError {
  return new BonsaiError({
    code: "transcript_not_a_file",
    message: `${path} is neither a file nor a folder, but a pipe, a socket or a device.`,
    hint: "Write the transcript to a file first, and import that.",
  });
}

function unknown(path: string): BonsaiError {
  const hint = basename(path).endsWith(".db")
    ? "This looks like OpenCode's database: import what `opencode export SESSION` prints."
    : "Transcripts of Claude Code, Codex, OpenCode, Gemini CLI and Qwen Code can be imported.";
  return new BonsaiError({
    code: "transcript_unknown",
    message: `${path} is no transcript of a program that is known here.`,
    hint,
  });
}

function emptyTranscript(path: string, program: string): BonsaiError {
  return new BonsaiError({
    code: "transcript_empty",
    message: `${path} holds no messages of ${program}.`,
    hint: "Choose another transcript; this one has nothing to import.",
  });
}

function isSession(path: string): BonsaiError {
  return new BonsaiError({
    code: "transcript_is_session",
    message: `${path} is a session already.`,
    hint: "Open it as it is: `bonsai show FILE`, or `bonsai --session FILE`.",
  });
}

/** Formats that are recognised; `session` is Bonsai's and pi's own. */
export type TranscriptFormat =
  | "session"
  | "claude-code"
  | "codex"
  | "opencode-storage"
  | "opencode-export"
  | "gemini"
  | "qwen";

export interface DetectedTranscript {
  format: TranscriptFormat;
  /** Name of the program that wrote it. */
  program: string;
}

interface FormatRow {
  format: TranscriptFormat;
  program: string;
  /** Says by one object of the file (a line, or the whole of a JSON file) whether it is of this format. */
  matches: (value: Fields) => boolean;
}

const CODEX_TYPES = new Set(["session_meta", "turn_context", "response_item", "event_msg", "compacted"]);
const CLAUDE_TYPES = new Set(["user", "assistant", "system", "attachment", "progress"]);

/** In this order: the first row that matches decides. */
const FORMATS: readonly FormatRow[] = [
  {
    format: "session",
    program: "Bonsai or pi",
    matches: (value) => value.type === "session" && typeof value.id === "string",
  },
  {
    format: "codex",
    program: "Codex",
    matches: (value) =>
      (CODEX_TYPES.has(nameOf(value.type)) && isFields(value.payload)) ||
      (value.type === undefined &&
        typeof value.id === "string" &&
        "instructions" in value &&
        "timestamp" in value),
  },
  {
    format: "qwen",
    program: "Qwen Code",
    matches: (value) =>
      hasUuid(value) && (Array.isArray(fieldsAt(value, "message")?.parts) || value.type === "tool_result"),
  },
  {
    format: "claude-code",
    program: "Claude Code",
    matches: (value) => hasUuid(value) && CLAUDE_TYPES.has(nameOf(value.type)),
  },
  {
    format: "claude-code",
    program: "Claude Code",
    matches: (value) => value.type === "summary" && typeof value.leafUuid === "string",
  },
  {
    format: "gemini",
    program: "Gemini CLI",
    matches: (value) => typeof value.sessionId === "string" && typeof value.projectHash === "string",
  },
  {
    format: "opencode-export",
    program: "OpenCode",
    matches: (value) => typeof fieldsAt(value, "info")?.id === "string" && Array.isArray(value.messages),
  },
];

function hasUuid(value: Fields): boolean {
  return stringAt(value, "uuid") !== undefined && "sessionId" in value;
}

/** Objects looked at before a file is given up: other programs begin with records of state. */
const LINES_TRIED = 200;
const HEAD_BYTES = 1 << 20;

/**
 * Says which program wrote a file or folder; undefined when it is no transcript that is known.
 * Reads the head of a file, or the whole of one that is a single JSON object.
 */
export function detectTranscript(path: string): DetectedTranscript | undefined {
  if (!existsSync(path)) return undefined;
  if (statSync(path).isDirectory()) return storageFolder(path) === undefined ? undefined : STORAGE;
  const rows = headObjects(path).map((value) => FORMATS.find((row) => row.matches(value)));
  const row = rows.find((each) => each !== undefined) ?? wholeFile(path);
  if (row !== undefined) return { format: row.format, program: row.program };
  return storageFolder(path) === undefined ? undefined : STORAGE;
}

const STORAGE: DetectedTranscript = { format: "opencode-storage", program: "OpenCode" };

function headObjects(path: string): Fields[] {
  return headText(path)
    .split("\n", LINES_TRIED)
    .flatMap((line) => (isPiece(line) ? [] : objectsOfLine(line).values));
}

/** An element of a list that is written over many lines is no record. */
function isPiece(line: string): boolean {
  return line.trimEnd().endsWith(",");
}

function headText(path: string): string {
  const file = openSync(path, "r");
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    return head.toString("utf8", 0, readSync(file, head, 0, HEAD_BYTES, 0)).replace(/^\uFEFF/, "");
  } finally {
    closeSync(file);
  }
}

function wholeFile(path: string): FormatRow | undefined {
  if (!/^\s*\{/.test(headText(path))) return undefined;
  const value = parsed(readFileSync(path, "utf8").replace(/^\uFEFF/, ""));
  return isFields(value) ? FORMATS.find((row) => row.matches(value)) : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
