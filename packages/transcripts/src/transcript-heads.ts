import { basename } from "node:path";
import { typedText } from "@bonsai-agent/messages";
import { readTranscript, type TranscriptFormat } from "./formats.ts";
import { numberAt, readJsonFile, stringAt } from "./import/json-lines.ts";
import { NoticeLog } from "./import/notices.ts";
import { databaseSessions } from "./opencode/database.ts";
import { parentId } from "./opencode/storage.ts";
import type { TranscriptAgent, TranscriptFile } from "./transcript-files.ts";

/** Facts about one session of another agent, for a list. */
export interface TranscriptHead extends TranscriptFile {
  /** The other program's id. */
  id: string;
  cwd?: string | undefined;
  /** Its title, or the beginning of the first user message. */
  title?: string | undefined;
  startedMs?: number | undefined;
}

const FORMATS: Readonly<Partial<Record<TranscriptAgent, TranscriptFormat>>> = {
  "claude-code": "claude-code",
  codex: "codex",
  gemini: "gemini",
  qwen: "qwen",
};

const TITLE_CHARS = 120;

/**
 * Reads the facts about the sessions of a transcript from the ends of the file. OpenCode's database has several sessions;
 * a sub-agent's file has none. pi's sessions are Bonsai's own format and have their own reader.
 * @throws what the file system and SQLite throw
 */
export function readTranscriptHeads(file: TranscriptFile): TranscriptHead[] {
  const { agent, path } = file;
  if (agent === "opencode") return path.endsWith(".db") ? databaseHeads(file) : storageHeads(file);
  const format = FORMATS[agent];
  if (format === undefined) return [];
  const { id, cwd, name, list } = readTranscript(format, { path, notices: new NoticeLog(), isPartial: true });
  const first = list.steps.find(({ draft }) => draft.type === "message" && draft.message.role === "user");
  const words =
    first?.draft.type === "message" && first.draft.message.role === "user" ? first.draft.message : undefined;
  const startedMs = Date.parse(list.steps.find(({ at }) => at !== undefined)?.at ?? "");
  return [
    {
      ...file,
      id: id === "unknown" ? basename(path).replace(/\.jsonl?$/, "") : id,
      cwd,
      title: titleOf(name ?? (words && typedText(words))),
      ...(Number.isFinite(startedMs) && { startedMs }),
    },
  ];
}

function databaseHeads(file: TranscriptFile): TranscriptHead[] {
  return databaseSessions(file.path).map(({ id, directory, title, created, updated }) => ({
    ...file,
    id,
    cwd: directory ?? undefined,
    title: titleOf(title ?? undefined),
    ...(created !== null && { startedMs: created }),
    ...(updated !== null && { modifiedMs: updated }),
  }));
}

function storageHeads(file: TranscriptFile): TranscriptHead[] {
  const info = readJsonFile(file.path);
  const id = stringAt(info, "id");
  if (info === undefined || id === undefined || parentId(info) !== undefined) return [];
  const updated = numberAt(info, "time", "updated");
  return [
    {
      ...file,
      id,
      cwd: stringAt(info, "directory"),
      title: titleOf(stringAt(info, "title")),
      startedMs: numberAt(info, "time", "created"),
      ...(updated > 0 && { modifiedMs: updated }),
    },
  ];
}

function titleOf(text: string | undefined): string | undefined {
  const title = text?.replaceAll(/\s+/g, " ").trim().slice(0, TITLE_CHARS);
  return title === "" ? undefined : title;
}
