import { closeSync, openSync, readSync, statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { BonsaiError, isRecord } from "@bonsai-agent/messages";
import { sqlite } from "@bonsai-agent/session/host";
import type { Fields } from "../import/json-lines.ts";
import type { OpenCodeSession } from "./storage.ts";

const SQLITE_MARK = "SQLite format 3\0";

/** A session's row in OpenCode's database. */
export interface DatabaseRow {
  id: string;
  directory: string | null;
  title: string | null;
  created: number | null;
  updated: number | null;
}

/** True for a SQLite file with OpenCode's tables. */
export function isOpenCodeDatabase(path: string): boolean {
  const file = openSync(path, "r");
  try {
    const head = Buffer.alloc(SQLITE_MARK.length);
    if (readSync(file, head, 0, head.length, 0) < head.length || head.toString("latin1") !== SQLITE_MARK)
      return false;
  } finally {
    closeSync(file);
  }
  try {
    return reading(path, (all) => {
      const names = all("SELECT name FROM sqlite_master WHERE type = 'table'").map(({ name }) => name);
      return ["session", "message", "part"].every((name) => names.includes(name));
    });
  } catch {
    return false;
  }
}

/** The sessions of a database without those of sub-agents. @throws what SQLite throws */
export function databaseSessions(path: string): DatabaseRow[] {
  return reading(path, (all) => {
    const rows = all(
      `SELECT id, directory, title, time_created AS created, time_updated AS updated FROM session
       WHERE parent_id IS NULL ORDER BY time_updated DESC`,
    );
    return rows as unknown[] as DatabaseRow[];
  });
}

/** One session of a database: the wanted one, or the only one. */
export function databaseSession(path: string, wanted: string | undefined): OpenCodeSession {
  return reading(path, (all) => {
    const main = all("SELECT id FROM session WHERE parent_id IS NULL ORDER BY time_updated DESC LIMIT 11");
    const id = wanted ?? (main.length === 1 ? String(main[0]!.id) : undefined);
    if (id === undefined) throw severalSessions(path, main);
    const [row] = all("SELECT * FROM session WHERE id = ?", id);
    if (row === undefined) throw noSession(path, id);
    const parts = Map.groupBy(
      all("SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id", id),
      ({ message_id }) => message_id,
    );
    const messages = all("SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", id);
    return {
      info: { ...row, parentID: row.parent_id ?? undefined },
      messages: messages.map((message) => ({
        info: fieldsOf(message),
        parts: (parts.get(message.id) ?? []).map((part) => ({ ...fieldsOf(part), messageID: message.id })),
      })),
      childIds: all("SELECT id FROM session WHERE parent_id = ? ORDER BY id", id).map((child) =>
        String(child.id),
      ),
    };
  });
}

/** The object in a row's column `data`, with the row's id. */
function fieldsOf({ id, data }: Fields): Fields {
  try {
    const value: unknown = JSON.parse(String(data));
    return isRecord(value) ? { ...value, id } : { id };
  } catch {
    return { id };
  }
}

type All = (sql: string, ...values: string[]) => Fields[];

/**
 * Reads a database and writes nothing beside it. SQLite makes files for a database with a write-ahead log, even for
 * reading; they exist already while OpenCode runs. Otherwise the file is opened as immutable.
 */
function reading<Value>(path: string, read: (all: All) => Value): Value {
  const url = pathToFileURL(path);
  const hasLog = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  if (!hasLog) url.searchParams.set("immutable", "1");
  const { DatabaseSync } = sqlite();
  const database = new DatabaseSync(url, { readOnly: true });
  try {
    return read((sql, ...values) => database.prepare(sql).all(...values) as Fields[]);
  } finally {
    database.close();
  }
}

function severalSessions(path: string, main: readonly Fields[]): BonsaiError {
  return new BonsaiError({
    code: main.length === 0 ? "transcript_empty" : "transcript_ambiguous",
    message: main.length === 0 ? `${path} contains no session.` : `${path} contains several sessions.`,
    hint: "Choose a session by its id. Run `opencode session list` to list the ids.",
  });
}

function noSession(path: string, id: string): BonsaiError {
  return new BonsaiError({
    code: "transcript_not_found",
    message: `${path} contains no session ${id}.`,
    hint: "Run `opencode session list` to list the sessions.",
  });
}
