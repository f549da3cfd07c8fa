import { existsSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { listSessions, openSession, type SessionSummary } from "@bonsai-agent/session";
import type { SearchThread } from "@bonsai-agent/session/search";
import type { OpenDatabase } from "../../call/database.ts";
import { moveSession, moveToTrash, type SessionPlace, trashFolder } from "../../call/session-file.ts";

// The sessions that the picker lists: those in files, or those in the call's database.

export interface ListedSession extends Omit<SessionSummary, "file" | "version"> {
  /** Opens the session: its file, or the id of a shared session. */
  key: string;
  /** The process that has a shared session open. */
  owner?: string;
}

export interface ListedPage {
  /** All sessions so far, latest activity first. */
  sessions: readonly ListedSession[];
  /** Files that could not be read. */
  skipped: number;
}

export interface FoundTexts {
  /** The found text of each session, by the session's key. */
  snippets: ReadonlyMap<string, string>;
  unread: number;
  /** Sessions that the search still has to index. */
  unindexed: number;
}

interface FindOptions {
  cwd: string | undefined;
  limit: number;
  signal: AbortSignal;
}

export interface ListedSessions {
  /** Yields the list as it grows. @param cwd undefined for all folders */
  list(cwd: string | undefined): AsyncGenerator<ListedPage>;
  /** Yields found texts until all sessions are searched. */
  find(query: string, options: FindOptions): AsyncGenerator<FoundTexts>;
  /** Returns notices. */
  rename(session: ListedSession, name: string): Promise<string[]>;
  /** The effect of a deletion, for the question before it. */
  readonly deletes: string;
  /** Returns the path of the copy in the trash. */
  delete(session: ListedSession): Promise<string>;
  restore(deleted: { key: string; inTrash: string }): Promise<void>;
}

/** Time to index before each update of the list. */
const INDEXING_MS = 500;

export function sessionsInFiles(place: SessionPlace, search: Pick<SearchThread, "find">): ListedSessions {
  return {
    async *list(cwd) {
      const { sessions, skipped } = listSessions(cwd === undefined ? place : { ...place, cwd });
      yield {
        sessions: sessions.map((session) => ({ ...session, key: session.file })),
        skipped: skipped.length,
      };
    },
    async *find(query, { cwd, limit, signal }) {
      const folder = place.folder === undefined ? {} : { folder: place.folder };
      const scope = cwd === undefined ? folder : { ...folder, cwd };
      for (let isDone = false; !isDone; ) {
        const options = { scope, limit, perSession: 1, budgetMs: INDEXING_MS, signal };
        const { hits, unread, unindexed } = await search.find(query, options);
        const snippets = new Map(hits.map(({ file, snippet }) => [file, snippet]));
        yield { snippets, unread: unread.length, unindexed };
        isDone = unindexed === 0;
      }
    },
    async rename({ key }, name) {
      const notices: string[] = [];
      const session = openSession(key, { onNotice: ({ message }) => notices.push(message) });
      try {
        session.append({ type: "session_info", name });
      } finally {
        session.close();
      }
      return notices;
    },
    deletes: "The file moves to",
    delete: async ({ key }) => moveToTrash(key, place.home),
    async restore({ key, inTrash }) {
      if (existsSync(key)) throw new Error(`${key} already exists.`);
      moveSession(inTrash, key);
    },
  };
}

/** The first page appears at once. */
const PAGE_SESSIONS = 1_000;

export function sessionsInDatabase({ sessions }: OpenDatabase, home: string): ListedSessions {
  return {
    async *list(cwd) {
      const listed: ListedSession[] = [];
      for (let isDone = false; !isDone; ) {
        const after = listed.at(-1);
        const page = await sessions.list({
          limit: PAGE_SESSIONS,
          ...(cwd !== undefined && { cwd }),
          ...(after && { after }),
        });
        listed.push(...page.map((session) => ({ ...session, key: session.id })));
        yield { sessions: [...listed], skipped: 0 };
        isDone = page.length < PAGE_SESSIONS;
      }
    },
    async *find(query, { cwd, limit }) {
      const hits = await sessions.search(query, { limit, ...(cwd !== undefined && { cwd }) });
      // The first hit of a session is its best.
      const snippets = new Map(hits.reverse().map(({ sessionId, excerpt }) => [sessionId, excerpt]));
      yield { snippets, unread: 0, unindexed: 0 };
    },
    async rename({ key }, name) {
      const session = await sessions.open(key);
      try {
        session.append({ type: "session_info", name });
        await session.durable();
      } finally {
        session.close();
      }
      // Then the list no longer shows it as open. The end of the program reports failures of other sessions.
      await sessions.settled().catch(() => {});
      return [];
    },
    deletes: "All hosts lose this session. A copy goes to",
    async delete({ key }) {
      const copy = freeName(join(trashFolder(home), "shared", encodeURIComponent(key)));
      mkdirSync(dirname(copy), { recursive: true, mode: 0o700 });
      await sessions.pull(key, copy);
      try {
        await sessions.delete(key);
      } catch (error) {
        rmSync(copy, { force: true });
        throw error;
      }
      return copy;
    },
    async restore({ inTrash }) {
      await sessions.push(inTrash);
      rmSync(inTrash);
    },
  };
}

function freeName(stem: string): string {
  let file = `${stem}.jsonl`;
  for (let at = 1; existsSync(file); at += 1) file = `${stem}-${at}.jsonl`;
  return file;
}
