import { resolve } from "node:path";
import { sessionManagerOf } from "@bonsai-agent/extension/host";
import { BonsaiError, type Message, messageText, type Usage } from "@bonsai-agent/messages";
import {
  cloneSession,
  type Entry,
  type EntryDraftWithId,
  listSessions,
  openSession,
  type SessionSummary,
  sessionFolder,
} from "@bonsai-agent/session";
import { KeptSession, type NewSessionOptions } from "./kept-session.ts";
import { uuidv7 } from "./sessions.ts";

/** pi's sessions, on Bonsai's own store: those on disk, and others that an extension makes. */
export const SessionManager = {
  /** A new session; its file appears with the first answer. */
  create: (cwd: string, sessionDir?: string, options?: NewSessionOptions) =>
    managerOf(KeptSession.start({ cwd, folder: folderOf(cwd, sessionDir) }, options)),
  inMemory: (cwd: string = process.cwd(), options?: NewSessionOptions, entries?: readonly object[]) =>
    managerOf(KeptSession.start({ cwd }, options, entries)),
  /** The session of a file; nothing is written before something is appended. @throws what `openSession` throws */
  open: (path: string, sessionDir?: string, cwd?: string) =>
    managerOf(
      KeptSession.open(path, {
        ...(cwd === undefined ? {} : { cwd }),
        ...(sessionDir === undefined ? {} : { folder: resolve(sessionDir) }),
      }),
    ),
  /** The latest session of a working folder, or a new one. */
  continueRecent(cwd: string, sessionDir?: string): PiSessionManager {
    const [latest] = sessionsOf(cwd, sessionDir);
    if (latest === undefined) return SessionManager.create(cwd, sessionDir);
    return SessionManager.open(latest.file, folderOf(cwd, sessionDir), cwd);
  },
  /** A copy of all branches of a session's file, for another working folder. */
  forkFrom(sourcePath: string, cwd: string, sessionDir?: string, { id = uuidv7() }: NewSessionOptions = {}) {
    const source = openSession(resolve(sourcePath));
    try {
      const file = cloneSession(source, { cwd: resolve(cwd), id, folder: folderOf(cwd, sessionDir) });
      return SessionManager.open(file);
    } finally {
      source.close();
    }
  },
  /** The file of the session with exactly this id. */
  findById: (cwd: string, id: string, sessionDir?: string) =>
    sessionsOf(cwd, sessionDir).find((session) => session.id === id)?.file,
  /** The sessions of a working folder, latest first. */
  list: async (cwd: string, sessionDir?: string, onProgress?: ListProgress) =>
    listed(sessionsOf(cwd, sessionDir), onProgress),
  /** All sessions, or those of one folder. */
  listAll: async (folder?: string | ListProgress, onProgress?: ListProgress | AbortSignal) =>
    typeof folder === "string"
      ? listed(listSessions({ folder }).sessions, onProgress)
      : listed(listSessions().sessions, folder),
};

type ListProgress = (loaded: number, total: number) => void;
export type PiSessionManager = ReturnType<typeof managerOf>;

const keptSessions = new WeakMap<object, KeptSession>();

/** The session of a manager; undefined for an object that `SessionManager` did not make. */
export function keptSessionOf(manager: object): KeptSession | undefined {
  return keptSessions.get(manager);
}

/** What pi's extensions call on a session of their own. */
function managerOf(kept: KeptSession) {
  const reading = sessionManagerOf(() => kept.session);
  const manager = {
    ...reading,
    getCwd: () => kept.cwd,
    getSessionFile: () => kept.file,
    getSessionDir: () => kept.folder ?? "",
    isPersisted: () => kept.folder !== undefined,
    usesDefaultSessionDir: () => kept.folder === sessionFolder({ cwd: kept.cwd }),
    getChildren: (parentId: string) => reading.getEntries().filter((entry) => entry.parentId === parentId),
    newSession(options?: NewSessionOptions) {
      kept.start(options);
      return kept.file;
    },
    setSessionFile: (path: string) => kept.open(path),
    ...appendingTo(kept),
    ...changesOf(kept, reading),
  };
  keptSessions.set(manager, kept);
  return manager;
}

type Reading = ReturnType<typeof sessionManagerOf>;

/** The methods that append what they are given. */
function appendingTo(kept: KeptSession) {
  const added = addingTo(kept);
  return {
    appendMessage: (message: unknown) => added({ type: "message", message }),
    appendThinkingLevelChange: (thinkingLevel: string) =>
      added({ type: "thinking_level_change", thinkingLevel }),
    appendModelChange: (provider: string, modelId: string) =>
      added({ type: "model_change", provider, modelId }),
    appendUsage: (kind: string, provider: string, model: string, usage: Usage, note?: string) => {
      const fields = { kind, provider, model, usage, ...(note ? { note } : {}) };
      return kept.append({ type: "usage", ...fields });
    },
    appendCompaction(...fields: CompactionFields) {
      const [summary, firstKeptEntryId, tokensBefore, details, fromHook, usage] = fields;
      const id = kept.session.newId();
      const summarised = { summary, firstKeptEntryId: firstKeptEntryId ?? id, tokensBefore };
      return added({ type: "compaction", id, ...summarised, details, fromHook, usage });
    },
    appendCustomEntry: (customType: string, data?: unknown) => added({ type: "custom", customType, data }),
    appendCustomMessageEntry: (customType: string, content: unknown, display: boolean, details?: unknown) =>
      added({ type: "custom_message", customType, content, display, details }),
    appendSessionInfo: (name: string) =>
      added({ type: "session_info", name: name.replace(/[\r\n]+/g, " ").trim() }),
  };
}

/** The methods that look at what is there: labels, edits, branches. */
function changesOf(kept: KeptSession, reading: Reading) {
  const added = addingTo(kept);
  const there = (id: string) => reading.getEntry(id) ?? missing(id);
  return {
    appendLabelChange(targetId: string, label: string | undefined) {
      there(targetId);
      return added({ type: "label", targetId, ...(label ? { label } : {}) });
    },
    appendContextEdit(targetId: string, replacement: Replacement) {
      const target = there(targetId);
      const isOnBranch = reading.getBranch().some(({ id }) => id === targetId);
      if (!isOnBranch) uneditable(targetId, "it is not on the current branch");
      if (!hasEditableContent(target)) uneditable(targetId, "the model does not see its content");
      const content = replacement?.content;
      const isContent = replacement === null || typeof content === "string" || Array.isArray(content);
      if (!isContent) uneditable(targetId, "the replacement must be null or have content");
      return added({ type: "context_edit", targetId, replacement: asStored(target, replacement) });
    },
    branch: (id: string) => kept.session.moveTo(there(id).id),
    resetLeaf: () => kept.session.moveTo(null),
    branchWithSummary(id: string | null, ...[summary, details, fromHook, usage]: SummaryFields) {
      const fromId = kept.session.leafId ?? "root";
      kept.session.moveTo(id === null ? null : there(id).id);
      return added({ type: "branch_summary", fromId, summary, details, usage, fromHook });
    },
    createBranchedSession(leafId: string) {
      kept.branch(there(leafId).id);
      return kept.file;
    },
  };
}

/** What pi stores of an entry is what Bonsai stores; what an extension gives is not checked, as in pi. */
function addingTo(kept: KeptSession) {
  return (draft: object): string => kept.append(draft as EntryDraftWithId).id;
}

type CompactionFields = [
  summary: string,
  firstKeptEntryId: string | null,
  tokensBefore: number,
  details?: unknown,
  fromHook?: boolean,
  usage?: Usage,
];
type SummaryFields = [summary: string, details?: unknown, fromHook?: boolean, usage?: Usage];
type Replacement = { content: unknown } | null;

function hasEditableContent(entry: Entry): boolean {
  if (entry.type === "custom_message") return true;
  return entry.type === "message" && ["user", "assistant", "toolResult"].includes(entry.message?.role);
}

/** Answers and results hold lists. */
function asStored(target: Entry, replacement: Replacement): Replacement {
  if (replacement === null || typeof replacement.content !== "string") return replacement;
  const role = target.type === "message" ? target.message.role : "custom";
  if (role !== "assistant" && role !== "toolResult") return replacement;
  return { content: [{ type: "text", text: replacement.content }] };
}

function folderOf(cwd: string, sessionDir: string | undefined): string {
  return sessionDir === undefined ? sessionFolder({ cwd }) : resolve(sessionDir);
}

function sessionsOf(cwd: string, sessionDir: string | undefined): SessionSummary[] {
  if (sessionDir === undefined) return listSessions({ cwd }).sessions;
  const { sessions } = listSessions({ folder: sessionDir });
  return sessions.filter((session) => session.cwd !== "" && resolve(session.cwd) === resolve(cwd));
}

function listed(sessions: readonly SessionSummary[], onProgress: unknown) {
  const infos = sessions.map(sessionInfo);
  if (typeof onProgress === "function") (onProgress as ListProgress)(infos.length, infos.length);
  return infos;
}

/** What pi lists of a session; what stands in its messages is read when it is first asked for. */
function sessionInfo({ file, id, cwd, name, createdMs, lastActivityMs, parentSession }: SessionSummary) {
  let known: Said | undefined;
  const read = () => {
    known ??= saidIn(file);
    return known;
  };
  return {
    path: file,
    id,
    cwd,
    ...(name === undefined ? {} : { name }),
    ...(parentSession === undefined ? {} : { parentSessionPath: parentSession }),
    created: new Date(createdMs),
    modified: new Date(lastActivityMs),
    get messageCount() {
      return read().messageCount;
    },
    get firstMessage() {
      return read().firstMessage;
    },
    get allMessagesText() {
      return read().allMessagesText;
    },
  };
}

interface Said {
  messageCount: number;
  firstMessage: string;
  allMessagesText: string;
}

function saidIn(file: string): Said {
  const session = openSession(file);
  const texts: string[] = [];
  let messageCount = 0;
  let firstMessage = "";
  for (const { entry } of session.scan()) {
    if (entry?.type !== "message") continue;
    messageCount += 1;
    const message = entry.message as Message;
    const text = message.role === "user" || message.role === "assistant" ? messageText(message) : "";
    if (text === "") continue;
    texts.push(text);
    if (message.role === "user" && firstMessage === "") firstMessage = text;
  }
  session.close();
  return { messageCount, firstMessage, allMessagesText: texts.join(" ") };
}

function missing(id: string): never {
  throw new BonsaiError({
    code: "pi_entry_missing",
    message: `This session has no entry ${id}.`,
    hint: "Use ids from getEntries, getBranch or getTree of this session.",
  });
}

function uneditable(id: string, why: string): never {
  throw new BonsaiError({
    code: "pi_edit_refused",
    message: `Entry ${id} cannot be edited: ${why}.`,
    hint: "Edit a message of the current branch. The replacement must be null or have content.",
  });
}
