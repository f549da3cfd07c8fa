import { readFileSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { type Entry, openSession, type Session } from "@bonsai-agent/session";
import { sessionFiles, summarizeSession } from "@bonsai-agent/session/host";
import type { EntrySource, PlacedEntry } from "@bonsai-agent/session/search";
import {
  findTranscripts,
  type ImportedSession,
  importTranscript,
  readTranscriptHeads,
  type TranscriptAgent,
  type TranscriptFile,
} from "@bonsai-agent/transcripts";
import type { CliIo } from "../call/io.ts";
import { inMemory } from "../call/session-import.ts";

export type SessionAgent = TranscriptAgent | "bonsai";

/** Names for people, in the order of lists. */
export const agentNames: Readonly<Record<SessionAgent, string>> = {
  bonsai: "Bonsai",
  "claude-code": "Claude Code",
  codex: "Codex",
  opencode: "OpenCode",
  gemini: "Gemini CLI",
  qwen: "Qwen Code",
  pi: "pi",
};

/** A session on this machine, of Bonsai or another agent. */
export interface KnownSession {
  agent: SessionAgent;
  /** The agent's own id. */
  id: string;
  path: string;
  cwd?: string | undefined;
  title?: string | undefined;
  startedMs?: number | undefined;
  modifiedMs: number;
  bytes: number;
}

type SessionFile = Omit<TranscriptFile, "agent"> & { agent: SessionAgent };

/** Open sessions in memory: an imported transcript takes a few times its size. */
const MAX_OPEN = 3;
/** Maximum age of the client's conversation, so that not all files are read for it. */
const MAX_CURRENT_MS = 7 * 24 * 3_600_000;
/** Time during which a list of files is not made again. */
const LIST_MS = 1_000;

/** Finds and opens the sessions of all agents. Reads a file again only after a change, and never writes. */
export class KnownSessions {
  readonly #env: CliIo["env"];
  readonly #home: string;
  readonly #window = Buffer.allocUnsafeSlow(1 << 20);
  readonly #heads = new Map<string, { stamp: string; sessions: KnownSession[] }>();
  readonly #open = new Map<string, { stamp: string; session: Session }>();
  readonly #imports = new Map<string, { stamp: string; imported: ImportedSession }>();
  #files: { atMs: number; files: SessionFile[] } | undefined;

  constructor(env: CliIo["env"], home: string) {
    this.#env = env;
    this.#home = home;
  }

  /** The files with sessions, latest change first. */
  files(): readonly SessionFile[] {
    const nowMs = performance.now();
    if (this.#files !== undefined && nowMs - this.#files.atMs < LIST_MS) return this.#files.files;
    const own = sessionFiles({ home: this.#home }).flatMap((path): SessionFile[] => {
      const stats = statSync(path, { throwIfNoEntry: false });
      return stats?.isFile() ? [{ agent: "bonsai", path, bytes: stats.size, modifiedMs: stats.mtimeMs }] : [];
    });
    const files = [...own, ...findTranscripts(this.#env)].sort((a, b) => b.modifiedMs - a.modifiedMs);
    this.#files = { atMs: nowMs, files };
    return files;
  }

  /** The sessions of one file; none for a file that cannot be read. */
  sessionsIn(file: SessionFile): readonly KnownSession[] {
    const stamp = `${file.bytes} ${file.modifiedMs}`;
    const known = this.#heads.get(file.path);
    if (known?.stamp === stamp) return known.sessions;
    const sessions = this.#read(file);
    this.#heads.set(file.path, { stamp, sessions });
    return sessions;
  }

  #read(file: SessionFile): KnownSession[] {
    const { agent, path } = file;
    try {
      if (agent !== "bonsai" && agent !== "pi") return readTranscriptHeads({ ...file, agent });
      const summary = summarizeSession(path, this.#window);
      if (typeof summary === "string") return [];
      const { id, cwd, name, firstWords, createdMs } = summary;
      return [{ ...file, id, cwd, title: name ?? firstWords, startedMs: createdMs }];
    } catch {
      // A damaged, locked or deleted file has no row. Opening it by its path reports the error.
      return [];
    }
  }

  /** All sessions, latest change first, read one file at a time. */
  *all(): Generator<KnownSession> {
    const isDatabase = ({ path }: SessionFile) => path.endsWith(".db");
    const rows = this.files()
      .filter(isDatabase)
      .flatMap((file) => this.sessionsIn(file));
    const files = this.files().filter((file) => !isDatabase(file));
    let at = 0;
    for (const file of files) {
      while (at < rows.length && rows[at]!.modifiedMs > file.modifiedMs) yield rows[at++]!;
      yield* this.sessionsIn(file);
    }
    yield* rows.slice(at);
  }

  /**
   * The session with this id, or the only one whose id begins with it.
   * @throws BonsaiError `session_not_found`, `session_ambiguous`
   */
  find(id: string): KnownSession {
    const found = [...this.all()].filter((session) => session.id.startsWith(id));
    const exact = found.filter((session) => session.id === id);
    const named = exact.length > 0 ? exact : found;
    if (named.length === 1 || exact.length > 1) return named[0]!;
    throw named.length === 0
      ? new BonsaiError({
          code: "session_not_found",
          message: `No session has the id ${JSON.stringify(id.slice(0, 80))}.`,
          hint: "Find ids with list_sessions.",
        })
      : new BonsaiError({
          code: "session_ambiguous",
          message: `${named.length} sessions have an id that begins with ${JSON.stringify(id)}.`,
          hint: "Give more characters of the id.",
        });
  }

  /** The latest session of a folder, of the named agent if it has one there. Older ones are no conversation of now. */
  current(cwd: string, agent: SessionAgent | undefined, nowMs: number): KnownSession | undefined {
    let other: KnownSession | undefined;
    for (const session of this.all()) {
      if (session.modifiedMs < nowMs - MAX_CURRENT_MS) break;
      if (session.cwd === undefined || resolve(session.cwd) !== resolve(cwd)) continue;
      if (agent === undefined || session.agent === agent) return session;
      other ??= session;
    }
    return other;
  }

  /** The session itself, with a transcript read as a session in memory. @throws BonsaiError for an unreadable file */
  open(known: KnownSession): Session {
    const { size, mtimeMs } = statSync(known.path);
    const stamp = `${size} ${mtimeMs} ${known.modifiedMs}`;
    const key = keyOf(known);
    const opened = this.#open.get(key);
    const isSame = opened?.stamp === stamp;
    if (!isSame) opened?.session.close();
    const session = isSame ? opened.session : this.#opened(known, stamp);
    keepLatest(this.#open, key, { stamp, session }, ({ session: old }) => old.close());
    return session;
  }

  #opened(known: KnownSession, stamp: string): Session {
    return isSessionFormat(known) ? openSession(known.path) : inMemory(this.#imported(known, stamp));
  }

  #imported(known: Pick<KnownSession, "agent" | "path" | "id">, stamp: string): ImportedSession {
    const { agent, path, id } = known;
    const key = keyOf(known);
    const read = this.#imports.get(key);
    const imported =
      read?.stamp === stamp
        ? read.imported
        : importTranscript({ path, ...(agent === "opencode" && { sessionId: id }) });
    keepLatest(this.#imports, key, { stamp, imported });
    return imported;
  }

  /** The files to search, latest first, so that they are indexed first. A session of a database or of several files is read anew after a change. */
  sources(): EntrySource[] {
    return this.files().flatMap((file): EntrySource[] => {
      if (isSessionFormat(file)) return [{ file: file.path }];
      if (file.path.endsWith(".jsonl"))
        return [{ file: file.path, read: (_, from) => this.#linesFrom(file, from) }];
      return this.sessionsIn(file).map((known) => ({
        file: keyOf(known),
        read: () => this.#wholeEntries(known),
        mark: () => ({ inode: known.id, size: 1, modifiedMs: known.modifiedMs }),
      }));
    });
  }

  /** A transcript for the index. A damaged or empty one has no entries, because an error would end the whole search. */
  #searched(
    known: Pick<KnownSession, "agent" | "path" | "id">,
    stamp: string,
  ): Pick<ImportedSession, "entries" | "lines"> {
    try {
      return this.#imported(known, stamp);
    } catch {
      // Opening the session reports the error.
      return { entries: [], lines: new Map() };
    }
  }

  /** The entries of JSON Lines that begin at a byte or later. */
  *#linesFrom({ agent, path }: SessionFile, from: number): Generator<PlacedEntry> {
    const { size, mtimeMs } = statSync(path);
    const { entries, lines } = this.#searched({ agent, path, id: "" }, `${size} ${mtimeMs}`);
    const starts = lineStarts(path);
    const placed = entries.flatMap((entry) => {
      if (isOwnResult(entry)) return [];
      const line = lines.get(entry.id) ?? 0;
      const [offset, end] = [starts[line - 1], starts[line]];
      return offset === undefined || offset < from
        ? []
        : [{ entry, offset, lengthBytes: (end ?? size) - offset }];
    });
    yield* placed.sort((a, b) => a.offset - b.offset);
  }

  *#wholeEntries(known: KnownSession): Generator<PlacedEntry> {
    const { entries } = this.#searched(known, String(known.modifiedMs));
    for (const entry of entries) if (!isOwnResult(entry)) yield { entry, offset: 0, lengthBytes: 1 };
  }

  /** The session of a source that a search found; undefined if it is gone. */
  inSource(source: string): KnownSession | undefined {
    const path = source.replace(/#[^#]*$/, "");
    const files = this.files().filter((file) => file.path === source || file.path === path);
    const sessions = files.flatMap((file) => this.sessionsIn(file));
    return sessions.find((session) => keyOf(session) === source) ?? sessions[0];
  }

  close(): void {
    for (const { session } of this.#open.values()) session.close();
    this.#open.clear();
  }
}

/** A result of this server, which repeats other entries. */
function isOwnResult(entry: Entry): boolean {
  if (entry.type !== "message" || entry.message.role !== "toolResult") return false;
  return /bonsai\W*_*(?:recall|open_entry|carry_over)$/.test(entry.message.toolName);
}

/** Bonsai's and pi's sessions have one format. */
function isSessionFormat({ agent }: Pick<SessionFile, "agent">): boolean {
  return agent === "bonsai" || agent === "pi";
}

/** The path of a session's file, with the session's id if the file has several or is read as a whole. */
function keyOf({ path, id }: Pick<KnownSession, "path" | "id">): string {
  return path.endsWith(".jsonl") ? path : `${path}#${id}`;
}

/** Sets a value as the latest of a map, and drops the oldest ones above the limit. */
function keepLatest<Value>(
  map: Map<string, Value>,
  key: string,
  value: Value,
  drop: (value: Value) => void = () => {},
): void {
  map.delete(key);
  map.set(key, value);
  for (const [oldest, old] of map) {
    if (map.size <= MAX_OPEN) break;
    map.delete(oldest);
    drop(old);
  }
}

const NEWLINE = 0x0a;

/** The first byte of each line, and the end of the last one. */
function lineStarts(path: string): number[] {
  const bytes = readFileSync(path);
  const starts = [0];
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) starts.push(at + 1);
  return starts;
}

/** The agent of an MCP client, by the client's name. */
export function agentOfClient(clientName: string): SessionAgent | undefined {
  const name = clientName.toLowerCase();
  const agents = Object.keys(agentNames) as SessionAgent[];
  return agents.find((agent) => name.split(/[^a-z]+/).includes(agent.split("-")[0]!));
}

/** A short name of a session for people and models. */
export function sessionWords({ agent, id, cwd, title, path }: KnownSession): string {
  const name = title === undefined ? basename(path) : JSON.stringify(title);
  return `${id} (${agentNames[agent]}, ${name}${cwd === undefined ? "" : `, ${cwd}`})`;
}
