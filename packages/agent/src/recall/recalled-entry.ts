import {
  callsIn,
  callText,
  contentBlocks,
  contentText,
  type ImageContent,
  isRecord,
  jsonText,
  type ToolCall,
  type UserMessage,
} from "@bonsai-agent/messages";
import {
  bashExecutionText,
  RECALL_TOOL,
  recalledIds,
  secretsOf,
  typedCommand,
} from "@bonsai-agent/messages/host";
import { type Entry, ownEntryWords, pinChange, type Session } from "@bonsai-agent/session";
import { recallableEntry } from "@bonsai-agent/session/host";

const MAX_CALL_CHARS = 80;

/** An entry as it was, in words. */
export interface RecalledEntry {
  session: Session;
  entryId: string;
  /** Its author: `user`, `answer`, `result of bash npm test`. */
  who: string;
  /** When it was written, to the minute, in UTC; empty where it does not say. */
  time: string;
  /** All that it says. */
  text: string;
  images: readonly ImageContent[];
  /** The entry with the call of a tool result. */
  calledBy?: string | undefined;
  /** The same for all that is much the same: results of one call again and again. */
  kind: string;
}

/**
 * An entry in words, without what an edit took away on purpose; undefined for one that says nothing, and for a copy of
 * other entries.
 */
export function recalledEntry(session: Session, entry: Entry): RecalledEntry | undefined {
  const recallable = recallableEntry(session, entry);
  const said = recallable && entryText(session, recallable);
  if (said === undefined || (said.text.trim() === "" && said.images.length === 0)) return undefined;
  // The session keeps its secrets; a copy in the context would be sent again and again.
  const { who, text } = secretsOf(session).value({ who: said.who, text: said.text });
  const timeMs = Date.parse(entry.timestamp);
  const time = Number.isFinite(timeMs) ? new Date(timeMs).toISOString().slice(0, 16).replace("T", " ") : "";
  return {
    session,
    entryId: entry.id,
    time,
    kind: `${who}\0${said.calledBy === undefined ? text : ""}`,
    ...said,
    who,
    text,
  };
}

type EntryText = Pick<RecalledEntry, "who" | "text" | "images" | "calledBy">;

function entryText(session: Session, entry: Entry): EntryText | undefined {
  if (entry.type === "branch_summary")
    return { who: "summary of another branch", text: String(entry.summary), images: [] };
  if (entry.type === "custom_message") {
    const { customType, content } = entry;
    const who =
      pinChange(entry) !== undefined ? "pin" : (ownEntryWords(entry) ?? `message from ${customType}`);
    return { who, text: contentText(content), images: imagesOf(content) };
  }
  return entry.type === "message" ? messageText(session, entry) : undefined;
}

function messageText(session: Session, entry: Entry & { type: "message" }): EntryText | undefined {
  const { message } = entry;
  switch (message?.role) {
    case "user":
      return { who: "user", text: wholeText(message), images: imagesOf(message.content) };
    case "assistant":
      return { who: "answer", text: answerText(message), images: [] };
    case "bashExecution":
      if (message.excludeFromContext) return undefined;
      return { who: "user's command", text: bashExecutionText(message), images: [] };
    case "toolResult": {
      if (recalledIds(message) !== undefined) return undefined;
      const { call, entryId: calledBy } = callOf(session, entry) ?? {};
      const failed = message.isError ? ", failed" : "";
      const who = `result of ${call === undefined ? message.toolName : callText(call.name, call.arguments, MAX_CALL_CHARS)}${failed}`;
      return { who, text: contentText(message.content), images: imagesOf(message.content), calledBy };
    }
    default:
      return undefined;
  }
}

/** Word for word, under the line that a template was called by. */
function wholeText(message: UserMessage): string {
  return [typedCommand(message), contentText(message.content)].filter(Boolean).join("\n\n");
}

/** The text and the calls of an answer, without calls of `recall`. */
function answerText(message: Parameters<typeof callsIn>[0] & { role: "assistant" }): string {
  const calls = callsIn(message).filter(({ name }) => name !== RECALL_TOOL);
  return [contentText(message.content), ...calls.map(wholeCall)].filter((text) => text !== "").join("\n\n");
}

/** Arguments of several lines are shown as they were meant, not as JSON writes them. */
function wholeCall({ name, arguments: args }: ToolCall): string {
  const shown = Object.entries(args ?? {}).map(([key, value]) => {
    const text = typeof value === "string" ? value : isPlainList(value) ? listText(value) : jsonText(value);
    return text.includes("\n") ? `${key}:\n${text}` : `${key}: ${text}`;
  });
  return [`Calls ${name}`, ...shown].join("\n");
}

function isPlainList(value: unknown): value is readonly Record<string, unknown>[] {
  return Array.isArray(value) && value.length > 0 && value.every(isRecord);
}

function listText(items: readonly Record<string, unknown>[]): string {
  return items
    .flatMap((item) =>
      Object.entries(item).map(
        ([key, value]) => `${key}: ${typeof value === "string" ? value : jsonText(value)}`,
      ),
    )
    .map((line) => `- ${line}`)
    .join("\n");
}

function imagesOf(content: unknown): ImageContent[] {
  return contentBlocks(content).filter((block) => block.type === "image") as unknown as ImageContent[];
}

/** Maximum distance, in entries, between a call and its result. */
const MAX_CALL_DISTANCE = 64;

function callOf(
  session: Session,
  entry: Entry & { type: "message" },
): { call: ToolCall; entryId: string } | undefined {
  const { message } = entry;
  if (message.role !== "toolResult") return undefined;
  let at: Entry | undefined = entry;
  for (let step = 0; step < MAX_CALL_DISTANCE && at !== undefined; step += 1) {
    at = at.parentId === null ? undefined : session.entry(at.parentId);
    if (at?.type !== "message") continue;
    if (!callsIn(at.message).some(({ id }) => id === message.toolCallId)) continue;
    const shown = recallableEntry(session, at);
    const calls = shown?.type === "message" ? callsIn(shown.message) : [];
    const call = calls.find(({ id }) => id === message.toolCallId);
    return call && { call, entryId: at.id };
  }
  return undefined;
}
