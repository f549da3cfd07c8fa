import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import {
  type AssistantContent,
  BonsaiError,
  isRecord,
  type Usage,
  type UserContent,
} from "@bonsai-agent/messages";
import { type Fields, fieldsAt, listAt, nameOf, numberAt, stringAt } from "../import/json-lines.ts";
import type { NoticeLog } from "../import/notices.ts";
import { callArguments, imageOfUrl, MISSING_RESULT, text } from "../import/step.ts";

/** A request of an assistant message: its parts from one `step-start` to the next. */
interface OpenCodeRequest {
  parts: Fields[];
  finish: Fields | undefined;
}

/** Several requests can stand in one message; each is a message of its own to the model. */
export function requestsOf(parts: readonly Fields[]): OpenCodeRequest[] {
  const requests: OpenCodeRequest[] = [];
  for (const part of parts) {
    if (part.type === "step-start" || requests.length === 0) requests.push({ parts: [], finish: undefined });
    const current = requests.at(-1)!;
    if (part.type === "step-finish") current.finish = part;
    else if (part.type !== "step-start") current.parts.push(part);
  }
  return requests.filter(
    (request) => request.parts.some((part) => isShown(part)) || request.finish !== undefined,
  );
}

function isShown(part: Fields): boolean {
  return part.type === "text" || part.type === "reasoning" || part.type === "tool";
}

export function answerOf(parts: readonly Fields[]): AssistantContent[] {
  return parts.flatMap((part): AssistantContent[] => {
    switch (part.type) {
      case "text":
        return stringAt(part, "text") ? [text(stringAt(part, "text")!)] : [];
      case "reasoning":
        return [thinkingOf(part)];
      case "tool":
        return [
          {
            type: "toolCall",
            id: partCallId(part),
            name: stringAt(part, "tool") ?? "unknown",
            arguments: callArguments(fieldsAt(part, "state")?.input),
          },
        ];
      default:
        return [];
    }
  });
}

export function partCallId(part: Fields): string {
  return stringAt(part, "callID") ?? stringAt(part, "id") ?? "unknown";
}

function thinkingOf(part: Fields): AssistantContent {
  const metadata = fieldsAt(part, "metadata");
  const signature = stringAt(fieldsAt(metadata, "anthropic"), "signature");
  const block: AssistantContent = { type: "thinking", thinking: stringAt(part, "text") ?? "" };
  return signature === undefined ? block : { ...block, thinkingSignature: signature };
}

/** A tool part's result; one that never finished gets a placeholder. */
export function partResult(part: Fields, notices: NoticeLog): { content: UserContent[]; isError: boolean } {
  const state = fieldsAt(part, "state");
  if (state?.status === "completed") {
    const attachments = listAt(state, "attachments").map((file) => fileContent(file, notices));
    return { content: [text(stringAt(state, "output") ?? ""), ...attachments], isError: false };
  }
  if (state?.status === "error") {
    const interrupted = stringAt(fieldsAt(state, "metadata"), "output");
    return { content: [text(interrupted ?? stringAt(state, "error") ?? "")], isError: true };
  }
  notices.add("result_missing");
  return { content: [text(MISSING_RESULT)], isError: true };
}

/** An attached file: an image where its data is stored, else a marker. */
export function fileContent(part: Fields, notices: NoticeLog): UserContent {
  const mime = stringAt(part, "mime") ?? "unknown type";
  const image = mime.startsWith("image/") ? imageOfUrl(stringAt(part, "url")) : undefined;
  if (image !== undefined) return image;
  notices.add("image_not_stored");
  return text(`[file ${stringAt(part, "filename") ?? "without name"}, ${mime}: not stored]`);
}

/** Usage of a request or of a whole message; both have `tokens` and `cost`. */
export function tokensUsage(holder: Fields | undefined): Usage | undefined {
  const tokens = fieldsAt(holder, "tokens");
  if (tokens === undefined) return undefined;
  const cache = fieldsAt(tokens, "cache");
  const input = numberAt(tokens, "input");
  const output = numberAt(tokens, "output") + numberAt(tokens, "reasoning");
  const cacheRead = numberAt(cache, "read");
  const cacheWrite = numberAt(cache, "write");
  return {
    input,
    output,
    cacheRead,
    cacheWrite,
    totalTokens: input + output + cacheRead + cacheWrite,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: numberAt(holder, "cost") },
  };
}

/** A message of OpenCode with its parts, in order. */
export interface OpenCodeMessage {
  info: Fields;
  parts: Fields[];
}

/** A session of OpenCode, from whatever it was read. */
export interface OpenCodeSession {
  info: Fields;
  messages: OpenCodeMessage[];
  /** Ids of the sessions that sub-agents of this one ran in. */
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
  if (!statSync(path).isDirectory()) {
    return path.endsWith(".json") ? storageAbove(dirname(path)) : undefined;
  }
  if (isStorage(path)) return path;
  return isStorage(join(path, "storage")) ? join(path, "storage") : undefined;
}

function storageAbove(folder: string): string | undefined {
  for (let at = folder, depth = 0; depth < 4; at = dirname(at), depth += 1) if (isStorage(at)) return at;
  return undefined;
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
  const infos = readObjects(jsonFiles(sessionFolder(folder), 2), notices);
  const wanted =
    options.sessionId ?? (statSync(options.path).isDirectory() ? undefined : sessionIdIn(options.path));
  const info = wanted === undefined ? onlyMain(infos, folder) : infos.find((each) => each.id === wanted);
  if (info === undefined) throw noSuchSession(folder, wanted, infos);
  const id = nameOf(info.id);
  const messages = jsonFiles(messageFolder(folder, id), 1).flatMap((file) => {
    const message = readObject(file, notices);
    return message === undefined ? [] : [{ info: message, parts: storedParts(folder, id, message, notices) }];
  });
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
  const found = candidates.find((candidate) => existsSync(candidate));
  const parts = readObjects(found === undefined ? [] : jsonFiles(found, 1), notices);
  return parts.length > 0 ? parts.sort(compare) : listAt(message, "parts");
}

function sessionFolder(folder: string): string {
  return isOldStorage(folder) ? join(folder, "session", "info") : join(folder, "session");
}

function messageFolder(folder: string, sessionId: string): string {
  return join(folder, isOldStorage(folder) ? "session/message" : "message", sessionId);
}

/** A session file is named by its id, a message file lies in a folder named by it. */
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
  return numberAt(fieldsAt(info, "time"), "created");
}

/** OpenCode's ids ascend with time. */
function compare(a: Fields, b: Fields): number {
  const [first, second] = [nameOf(a.id), nameOf(b.id)];
  return first < second ? -1 : first > second ? 1 : 0;
}

/** The JSON files of a folder, in the order of their names; none when there is no such folder. */
function jsonFiles(folder: string, depth: number): string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return depth > 1 ? jsonFiles(path, depth - 1) : [];
    return entry.name.endsWith(".json") ? [path] : [];
  });
}

function readObjects(files: readonly string[], notices: NoticeLog): Fields[] {
  return files.map((file) => readObject(file, notices)).filter((value) => value !== undefined);
}

function readObject(file: string, notices: NoticeLog): Fields | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (isRecord(value)) return value;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  notices.add("bad_line", file);
  return undefined;
}
