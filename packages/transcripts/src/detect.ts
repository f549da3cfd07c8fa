import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { type Fields, fieldsAt, isFields, nameOf, stringAt } from "./fields.ts";
import { objectsOfLine } from "./line-objects.ts";
import { storageFolder } from "./opencode-storage.ts";

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
