import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { BonsaiError, isRecord } from "@bonsai-agent/messages";
import type { Entry } from "@bonsai-agent/session";
import { readClaudeCode } from "./claude-code/reader.ts";
import { readCodex } from "./codex/reader.ts";
import { IMPORT_CUSTOM_TYPE } from "./entries.ts";
import { readGemini } from "./google/gemini.ts";
import { readQwen } from "./google/qwen.ts";
import {
  type Fields,
  fieldsAt,
  type JsonLine,
  nameOf,
  objectsOfLine,
  readEndLines,
  readJsonFile,
  readJsonLines,
  stringAt,
} from "./import/json-lines.ts";
import type { NoticeLog } from "./import/notices.ts";
import type { Transcript } from "./import/step.ts";
import { databaseSession, isOpenCodeDatabase } from "./opencode/database.ts";
import { readOpenCode } from "./opencode/reader.ts";
import { exportedSession, storageFolder, storedSession } from "./opencode/storage.ts";

/** Formats that are recognised; `session` is Bonsai's and pi's own. */
export type TranscriptFormat =
  | "session"
  | "claude-code"
  | "codex"
  | "opencode-storage"
  | "opencode-export"
  | "opencode-database"
  | "gemini"
  | "qwen";

export interface DetectedTranscript {
  format: TranscriptFormat;
  /** Name of the program that wrote it. */
  program: string;
}

/** The place of a transcript. */
interface TranscriptSource {
  path: string;
  /** The session to read from a storage folder or a database with several. */
  sessionId?: string;
  notices: NoticeLog;
  /** Reads only the ends of JSON Lines, for the facts of a list. Default: false. */
  isPartial?: boolean;
}

/** Bytes read for the facts of a list. */
const END_BYTES = { first: 32 * 1024, last: 8 * 1024 };

function linesOf({ path, notices, isPartial }: TranscriptSource): JsonLine[] {
  return isPartial ? readEndLines(path, END_BYTES) : readJsonLines(path, notices);
}

interface FormatRow {
  /** Name of the program that wrote it. */
  readonly program: string;
  /** True for an object of this format: a line, or the whole JSON file. */
  readonly matches: (value: Fields) => boolean;
  readonly read: (source: TranscriptSource) => Transcript;
}

const CODEX_TYPES = new Set(["session_meta", "turn_context", "response_item", "event_msg", "compacted"]);
const CLAUDE_TYPES = new Set(["user", "assistant", "system", "attachment", "progress"]);

/** A row for each format. The first matching row decides. */
const FORMATS: { readonly [Format in TranscriptFormat]: FormatRow } = {
  session: {
    program: "Bonsai or pi",
    matches: (value) => value.type === "session" && typeof value.id === "string",
    read: ({ path }) => {
      throw new BonsaiError({
        code: "transcript_is_session",
        message: `${path} is already a Bonsai or pi session.`,
        hint: "Open it without importing: `bonsai session show FILE` or `bonsai --resume FILE`.",
      });
    },
  },
  codex: {
    program: "Codex",
    matches: (value) =>
      (CODEX_TYPES.has(nameOf(value.type)) && isRecord(value.payload)) ||
      (value.type === undefined &&
        typeof value.id === "string" &&
        "instructions" in value &&
        "timestamp" in value),
    read: (source) => readCodex(linesOf(source), source.notices),
  },
  qwen: {
    program: "Qwen Code",
    matches: (value) =>
      hasUuid(value) && (Array.isArray(fieldsAt(value, "message")?.parts) || value.type === "tool_result"),
    read: (source) => readQwen(linesOf(source), source.notices),
  },
  "claude-code": {
    program: "Claude Code",
    matches: (value) =>
      (hasUuid(value) && CLAUDE_TYPES.has(nameOf(value.type))) ||
      (value.type === "summary" && typeof value.leafUuid === "string"),
    read: (source) => readClaudeCode(linesOf(source), source.notices),
  },
  gemini: {
    program: "Gemini CLI",
    matches: (value) => typeof value.sessionId === "string" && typeof value.projectHash === "string",
    read: (source) => {
      const { path, notices, isPartial } = source;
      // An old recording is a single object.
      const value = isPartial && path.endsWith("l") ? undefined : readJsonFile(path);
      const lines = value === undefined ? linesOf(source) : [{ line: 1, value }];
      const transcript = readGemini(lines, notices);
      return { ...transcript, cwd: transcript.cwd ?? projectRoot(path) };
    },
  },
  "opencode-export": {
    program: "OpenCode",
    matches: (value) => typeof fieldsAt(value, "info")?.id === "string" && Array.isArray(value.messages),
    read: ({ path, notices }) => readOpenCode(exportedSession(readJsonFile(path) ?? {}), notices),
  },
  // Known by its first bytes.
  "opencode-database": {
    program: "OpenCode",
    matches: () => false,
    read: ({ path, sessionId, notices }) => readOpenCode(databaseSession(path, sessionId), notices),
  },
  // A folder, or a file in one: known by its place.
  "opencode-storage": {
    program: "OpenCode",
    matches: () => false,
    read: (source) =>
      readOpenCode(storedSession({ ...source, folder: storageFolder(source.path)! }), source.notices),
  },
};

/** The program whose transcript was imported, from the import's record; undefined for other entries. */
export function importedFrom(entry: Entry): string | undefined {
  if (entry.type !== "custom" || entry.customType !== IMPORT_CUSTOM_TYPE || !isRecord(entry.data))
    return undefined;
  const format = nameOf(entry.data.format);
  return Object.hasOwn(FORMATS, format) ? FORMATS[format as TranscriptFormat].program : undefined;
}

/** Reads a transcript of a format that `detectTranscript` found. */
export function readTranscript(format: TranscriptFormat, source: TranscriptSource): Transcript {
  return FORMATS[format].read(source);
}

function hasUuid(value: Fields): boolean {
  return stringAt(value, "uuid") !== undefined && "sessionId" in value;
}

/** The project's folder, from a file beside the folder of chats. */
function projectRoot(path: string): string | undefined {
  const marker = join(dirname(dirname(resolve(path))), ".project_root");
  if (!existsSync(marker)) return undefined;
  return readFileSync(marker, "utf8").trim() || undefined;
}

/** Maximum lines to check. Some programs begin with records of state. */
const LINES_TRIED = 200;
const HEAD_BYTES = 1 << 20;

/**
 * Finds the program that wrote a file or folder; undefined for unknown transcripts. Reads the head of a file, or all of a
 * single JSON object.
 */
export function detectTranscript(path: string): DetectedTranscript | undefined {
  if (!existsSync(path)) return undefined;
  const isFile = !statSync(path).isDirectory();
  const format = isFile ? (isOpenCodeDatabase(path) ? "opencode-database" : formatOfFile(path)) : undefined;
  if (format !== undefined) return { format, program: FORMATS[format].program };
  if (storageFolder(path) === undefined) return undefined;
  return { format: "opencode-storage", program: FORMATS["opencode-storage"].program };
}

function formatOfFile(path: string): TranscriptFormat | undefined {
  const head = headText(path);
  // A line with a comma at its end is a part of a list over many lines, and no record.
  const lines = head.split("\n", LINES_TRIED).filter((line) => !line.trimEnd().endsWith(","));
  for (const value of lines.flatMap((line) => objectsOfLine(line).values)) {
    const format = formatOf(value);
    if (format !== undefined) return format;
  }
  return /^\s*\{/.test(head) ? formatOf(readJsonFile(path)) : undefined;
}

function formatOf(value: Fields | undefined): TranscriptFormat | undefined {
  const formats = Object.keys(FORMATS) as TranscriptFormat[];
  return value && formats.find((format) => FORMATS[format].matches(value));
}

function headText(path: string): string {
  const file = openSync(path, "r");
  try {
    const head = Buffer.allocUnsafe(HEAD_BYTES);
    return head.toString("utf8", 0, readSync(file, head, 0, HEAD_BYTES, 0)).replace(/^\uFEFF/, "");
  } finally {
    closeSync(file);
  }
}
