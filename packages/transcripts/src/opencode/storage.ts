import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import {
  type Fields,
  fieldsAt,
  listAt,
  nameOf,
  numberAt,
  readJsonFile,
  stringAt,
} from "../import/json-lines.ts";
import type { NoticeLog } from "../import/notices.ts";

/** A message of OpenCode with its parts, in order. */
export interface OpenCodeMessage {
  info: Fields;
  parts: Fields[];
}

/** A session of OpenCode. */
export interface OpenCodeSession {
  info: Fields;
  messages: OpenCodeMessage[];
  /** Ids of the sessions of its sub-agents. */
  childIds: string[];
}

/** The session of an `opencode export` file. */
export function exportedSession(value: Fields): OpenCodeSession {
  const messages = listAt(value, "messages").map((message) => ({
    info: fieldsAt(message, "info") ?? message,
    parts: listAt(message, "parts"),
  }));
  return { info: fieldsAt(value, "info") ?? {}, messages, childIds: [] };
}

/** The storage folder that a path points at or into; undefined for any other path. */
export function storageFolder(path: string): string | undefined {
  if (!existsSync(path)) return undefined;
  if (statSync(path).isDirectory()) return [path, join(path, "storage")].find(isStorage);
  if (!path.endsWith(".json")) return undefined;
  const above = [dirname(path)];
  while (above.length < 4) above.push(dirname(above.at(-1)!));
  return above.find(isStorage);
}

function isStorage(folder: string): boolean {
  return existsSync(join(folder, "session")) && (existsSync(join(folder, "message")) || isOldStorage(folder));
}

/** The first layout had messages and parts below `session/`. */
function isOldStorage(folder: string): boolean {
  return existsSync(join(folder, "session", "message"));
}

/** One session of a storage folder: that of a session file, the one asked for, or the only main one. */
export function storedSession(options: {
  folder: string;
  path: string;
  sessionId?: string;
  notices: NoticeLog;
}): OpenCodeSession {
  const { folder, notices } = options;
  const isOld = isOldStorage(folder);
  const infos = readObjects(isOld ? join(folder, "session", "info") : join(folder, "session"), notices, 2);
  const wanted =
    options.sessionId ?? (statSync(options.path).isDirectory() ? undefined : sessionIdIn(options.path));
  const info = wanted === undefined ? onlyMain(infos, folder) : infos.find((each) => each.id === wanted);
  if (info === undefined) throw noSuchSession(folder, wanted, infos);
  const id = nameOf(info.id);
  const messages = readObjects(join(folder, isOld ? "session/message" : "message", id), notices).map(
    (message) => ({ info: message, parts: storedParts(folder, id, message, notices) }),
  );
  messages.sort((a, b) => created(a.info) - created(b.info) || compare(a.info, b.info));
  const childIds = infos.filter((each) => parentId(each) === id).map((each) => nameOf(each.id));
  return { info, messages, childIds };
}

function storedParts(folder: string, sessionId: string, message: Fields, notices: NoticeLog): Fields[] {
  const id = nameOf(message.id);
  const candidates = [
    join(folder, "part", id),
    join(folder, "part", sessionId, id),
    join(folder, "session", "part", sessionId, id),
  ];
  const parts = readObjects(
    candidates.find((candidate) => existsSync(candidate)),
    notices,
  );
  return parts.length > 0 ? parts.sort(compare) : listAt(message, "parts");
}

/** The name of a session file, or of the folder of a message file. */
function sessionIdIn(path: string): string | undefined {
  return [basename(path, ".json"), basename(dirname(path))].find((name) => name.startsWith("ses"));
}

export function parentId(info: Fields): string | undefined {
  return stringAt(info, "parentID") ?? stringAt(info, "parent_id");
}

function onlyMain(infos: readonly Fields[], folder: string): Fields | undefined {
  const main = infos.filter((info) => parentId(info) === undefined);
  if (main.length < 2) return main[0];
  throw new BonsaiError({
    code: "transcript_ambiguous",
    message: `${folder} contains ${main.length} sessions: ${main.slice(0, 10).map(title).join("; ")}${main.length > 10 ? "; …" : ""}.`,
    hint: "Choose one: give its file under session/, or its id.",
  });
}

function title(info: Fields): string {
  return `${info.id} (${stringAt(info, "title") ?? "untitled"})`;
}

function noSuchSession(folder: string, wanted: string | undefined, infos: readonly Fields[]): BonsaiError {
  return new BonsaiError({
    code: "transcript_not_found",
    message:
      wanted === undefined
        ? `${folder} contains no session.`
        : `${folder} contains ${infos.length} sessions, but no session ${wanted}.`,
    hint: "Give a session's file under session/, or a file written by `opencode export`.",
  });
}

function created(info: Fields): number {
  return numberAt(info, "time", "created");
}

/** OpenCode's ids ascend with time. */
function compare(a: Fields, b: Fields): number {
  const [first, second] = [nameOf(a.id), nameOf(b.id)];
  return first < second ? -1 : first > second ? 1 : 0;
}

/** The objects in the JSON files of a folder, in the order of their names; none if there is no such folder. */
function readObjects(folder: string | undefined, notices: NoticeLog, depth = 1): Fields[] {
  if (folder === undefined || !existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry): Fields[] => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return depth > 1 ? readObjects(path, notices, depth - 1) : [];
    if (!entry.name.endsWith(".json")) return [];
    const value = readJsonFile(path);
    if (value === undefined) notices.add("bad_line", path);
    return value === undefined ? [] : [value];
  });
}
