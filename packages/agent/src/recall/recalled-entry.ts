import { numberedEntries } from "@bonsai-agent/compaction/host";
import {
  callParts,
  callsIn,
  contentBlocks,
  contentText,
  type ImageContent,
  isRecord,
  jsonText,
  messageText,
  SecretFilter,
  type ToolCall,
} from "@bonsai-agent/messages";
import { RECALL_TOOL, recalledIds, typedCommand } from "@bonsai-agent/messages/host";
import { lineText } from "@bonsai-agent/messages/numbers";
import {
  type Entry,
  findSession,
  kindWord,
  openSession,
  ownEntryWords,
  pinChange,
  type Session,
} from "@bonsai-agent/session";
import { hiddenLookup, recallableEntry } from "@bonsai-agent/session/host";

const MAX_CALL_CHARS = 80;

/** The text of an entry, with its author and time. */
export interface RecalledEntry {
  session: Session;
  entryId: string;
  /** Its author: `user`, `answer`, `result of bash npm test`. */
  who: string;
  /** Its time to the minute, in UTC; empty if unknown. */
  time: string;
  text: string;
  images: readonly ImageContent[];
  /** The entry with the call of a tool result. */
  calledBy?: string | undefined;
  /** Equal for entries that repeat each other, such as results of the same call. */
  kind: string;
  /** True if an edit replaced a part of the entry. */
  isEdited: boolean;
}

/** Returns undefined for an entry without text or images, a removed one, and a copy of other entries. */
export function recalledEntry(session: Session, entry: Entry): RecalledEntry | undefined {
  const recallable = recallableEntry(session, entry);
  const said = recallable && entryText(session, recallable);
  if (said === undefined || (said.text.trim() === "" && said.images.length === 0)) return undefined;
  // The session file has secrets, but a recalled text would be sent again and again.
  const { who, text } = SecretFilter.of(session).value({ who: said.who, text: said.text });
  const timeMs = Date.parse(entry.timestamp);
  const time = Number.isFinite(timeMs) ? new Date(timeMs).toISOString().slice(0, 16).replace("T", " ") : "";
  return {
    session,
    entryId: entry.id,
    time,
    isEdited: recallable !== entry,
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
  return entry.type === "message" ? messageEntryText(session, entry) : undefined;
}

function messageEntryText(session: Session, entry: Entry & { type: "message" }): EntryText | undefined {
  const { message } = entry;
  switch (message?.role) {
    case "user":
      return {
        who: "user",
        text: [typedCommand(message), contentText(message.content)].filter(Boolean).join("\n\n"),
        images: imagesOf(message.content),
      };
    case "assistant":
      return { who: "answer", text: answerText(message), images: [] };
    case "bashExecution":
      if (message.excludeFromContext) return undefined;
      return { who: "user's command", text: messageText(message), images: [] };
    case "toolResult": {
      if (recalledIds(message) !== undefined) return undefined;
      const { call, entryId: calledBy } = callOf(session, entry) ?? {};
      const failed = message.isError ? ", failed" : "";
      const who = `result of ${call === undefined ? message.toolName : lineText(callParts(call.name, call.arguments), MAX_CALL_CHARS)}${failed}`;
      return { who, text: contentText(message.content), images: imagesOf(message.content), calledBy };
    }
    default:
      return undefined;
  }
}

/** The text and the calls of an answer, without calls of `recall`. */
function answerText(message: Parameters<typeof callsIn>[0] & { role: "assistant" }): string {
  const calls = callsIn(message).filter(({ name }) => name !== RECALL_TOOL);
  return [contentText(message.content), ...calls.map(wholeCall)].filter((text) => text !== "").join("\n\n");
}

/** Shows arguments of several lines as text, not as JSON. */
function wholeCall({ name, arguments: args }: ToolCall): string {
  const shown = Object.entries(args ?? {}).map(([key, value]) => {
    const isList = Array.isArray(value) && value.length > 0 && value.every(isRecord);
    const text = typeof value === "string" ? value : isList ? listText(value) : jsonText(value);
    return text.includes("\n") ? `${key}:\n${text}` : `${key}: ${text}`;
  });
  return [`Calls ${name}`, ...shown].join("\n");
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

/** Returns a test for the entries that may be recalled now: the hidden ones, and those of other branches if wanted. */
export function scopeOf(
  session: Session,
  { branches, shown: isShownToo = false }: { branches: boolean; shown?: boolean | undefined },
): (entryId: string) => boolean {
  if (isShownToo) return () => true;
  const hidden = hiddenLookup(session);
  if (!branches) return (entryId) => hidden(entryId) !== undefined;
  const shown = new Set(session.projection().items.map(({ entryId }) => entryId));
  return (entryId) => !shown.has(entryId) || hidden(entryId) !== undefined;
}

interface Where {
  session: Session;
  /** The folder of the session files. */
  home: string;
  mayLookElsewhere: boolean;
  branches: boolean;
}

/** Finds entries by entry id, tool call id, `session/entry` or message number. Each problem is a sentence about one id. */
export function resolveIds(
  ids: readonly string[],
  where: Where,
): { found: RecalledEntry[]; problems: string[] } {
  const found = new Map<string, RecalledEntry>();
  const problems: string[] = [];
  for (const id of ids) {
    try {
      // A summary shows ids in brackets.
      for (const entry of entriesOf(id.replace(/^\[(.*)\]$/, "$1"), where))
        found.set(`${entry.session.id}/${entry.entryId}`, entry);
    } catch (error) {
      problems.push((error as Error).message);
    }
  }
  return { found: [...found.values()], problems };
}

function entriesOf(id: string, where: Where): RecalledEntry[] {
  const [, sessionId, entryId] = /^([0-9a-f-]{4,36})\/(\S+)$/i.exec(id) ?? [];
  if (sessionId !== undefined) return [entryOfAnother(sessionId, entryId!, where)];
  const { session } = where;
  const entry = session.entry(id) ?? hiddenResult(session, id);
  if (entry === undefined && MESSAGE_NUMBER.test(id.trim())) return numbered(id.trim(), where);
  if (entry === undefined)
    throw new Error(`This session has no entry ${displayId(id)}. Find ids with query.`);
  const copied = copiedIds(entry);
  if (copied === undefined) return [ownEntry(entry, where)];
  // A copy leads to its originals.
  return copied.flatMap((original) => {
    const own = session.entry(original);
    if (own === undefined) return original.includes("/") ? entriesOf(original, where) : [];
    return copiedIds(own) === undefined ? [ownEntry(own, where)] : [];
  });
}

/** A short number, as a summary or a person writes it. A longer one is an id. */
const MESSAGE_NUMBER = /^#?(\d{1,6})\.?$/;

/** The entries of a message and of the agent's answers to it. Empty if the text is not a message number. */
export function numberedIds(session: Session, text: string): string[] {
  const [, number] = MESSAGE_NUMBER.exec(text.trim()) ?? [];
  return number === undefined ? [] : numberedEntries(session, Number(number));
}

/** The hidden entries for a message number. */
function numbered(text: string, where: Where): RecalledEntry[] {
  const { session } = where;
  const ids = numberedIds(session, text);
  if (ids.length === 0)
    throw new Error(`This session has no entry or message ${displayId(text)}. Find entries with query.`);
  const hidden = ids.filter(scopeOf(session, where));
  if (hidden.length === 0)
    throw new Error(`Message ${displayId(text)} is not hidden. The conversation shows it unchanged.`);
  return hidden.map((id) => ownEntry(session.entry(id)!, where));
}

/** The ids in a result of the tool `recall`. */
function copiedIds(entry: Entry): readonly string[] | undefined {
  return entry.type === "message" ? recalledIds(entry.message) : undefined;
}

function ownEntry(entry: Entry, { session, branches }: Where): RecalledEntry {
  const id = displayId(entry.id);
  const recalled = recalledEntry(session, entry);
  if (recalled === undefined && recallableEntry(session, entry) === undefined)
    throw new Error(`Entry ${id} was removed from the conversation on purpose and cannot be opened.`);
  if (recalled === undefined)
    throw new Error(`Entry ${id} (${kindWord(entry.type)}) has no text. Find other entries with query.`);
  if (scopeOf(session, { branches })(entry.id)) return recalled;
  const isShown = session.projection().items.some(({ entryId }) => entryId === entry.id);
  throw new Error(
    isShown
      ? `Entry ${id} is not hidden. The conversation shows it unchanged.`
      : `Entry ${id} is on another branch of this session. Open it with branches: true.`,
  );
}

/** The hidden result of a visible tool call. */
function hiddenResult(session: Session, toolCallId: string): Entry | undefined {
  const hidden = hiddenLookup(session);
  return session.projection().items.find(({ entryId, message }) => {
    return (
      message.role === "toolResult" && message.toolCallId === toolCallId && hidden(entryId) !== undefined
    );
  })?.entry;
}

function entryOfAnother(
  sessionId: string,
  entryId: string,
  { session, mayLookElsewhere, home }: Where,
): RecalledEntry {
  if (!mayLookElsewhere)
    throw new Error(`${displayId(sessionId)} is another session. The setting recall.sessions is off.`);
  const file = findSession({ session: sessionId, cwd: session.cwd, home });
  const other = openSession(file);
  try {
    const entry = other.cwd === session.cwd ? other.entry(entryId) : undefined;
    const recalled = entry && recalledEntry(other, entry);
    if (recalled === undefined)
      throw new Error(
        `Session ${displayId(sessionId)} has no entry ${displayId(entryId)} with text. Find ids with query and sessions: true.`,
      );
    return recalled;
  } finally {
    other.close();
  }
}

const MAX_ID_CHARS = 80;

/** An id for messages: ids of damaged files can be any text. */
export function displayId(id: string): string {
  return id.slice(0, MAX_ID_CHARS).replaceAll(/[^\p{L}\p{N}._:/|-]+/gu, "-");
}
