import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { type CopySource, ParsedEntries, StoredLines } from "./copy-source.ts";
import { type Entry, SESSION_VERSION, type SessionHeader } from "./entry.ts";
import { carriedMetadata } from "./fork-metadata.ts";
import { writeNewFile } from "./new-file.ts";
import type { Session } from "./session.ts";
import { newSessionFile, sessionFileName } from "./session-home.ts";

export interface CloneOptions {
  /** Path of the new file. Without it, a name of the usual form is chosen. */
  file?: string;
  /** Folder for the new file. Default: the session's own among `home`'s. */
  folder?: string;
  /** Default: `bonsaiHome()`. */
  home?: string;
  /** Working directory of the new session. Default: the origin's. */
  cwd?: string;
  /** Id of the new session. Default: a random UUID. */
  id?: string;
  /** Default: the present. */
  now?: Date;
}

export interface ForkOptions extends CloneOptions {
  /** The last entry to be copied; null for none. Default: the origin's leaf. */
  at?: string | null;
}

/**
 * Copies the path to one entry into a new session file. Entries keep their ids and every field; labels of
 * copied entries and the session's name come along, wherever they stand in the origin.
 * @returns the absolute path of the new file
 * @throws BonsaiError `entry_not_found`, `session_exists`, `session_not_created`
 */
export function forkSession(session: Session, options: ForkOptions = {}): string {
  const at = options.at === undefined ? session.leafId : options.at;
  if (at !== null && session.entry(at) === undefined) throw unknownEntry(at);
  return withSource(session, (source) => {
    const path = source.path(at);
    const ids = new Set(path.map((item) => source.id(item)));
    const now = options.now ?? new Date();
    const added = carriedMetadata({ ids, end: at, metadata: source.metadata(), now });
    return writeCopy({ session, options: { ...options, now }, source, items: path, added });
  });
}

/**
 * Copies all entries of all branches into a new session file.
 * @returns the absolute path of the new file
 * @throws BonsaiError `session_exists`, `session_not_created`
 */
export function cloneSession(session: Session, options: CloneOptions = {}): string {
  return withSource(session, (source) =>
    writeCopy({ session, options, source, items: source.all(), added: [] }),
  );
}

function withSource(session: Session, copy: <Item>(source: CopySource<Item>) => string): string {
  const stored = StoredLines.of(session);
  try {
    return stored === undefined ? copy(new ParsedEntries(session)) : copy(stored);
  } finally {
    stored?.close();
  }
}

interface Copy<Item> {
  session: Session;
  options: CloneOptions;
  source: CopySource<Item>;
  items: Iterable<Item>;
  /** Entries that follow them. */
  added: readonly Entry[];
}

function writeCopy<Item>({ session, options, source, items, added }: Copy<Item>): string {
  const header = copyHeader(session, options);
  const file = copyFile(header, options);
  writeNewFile(file, (fd) => {
    writeFileSync(fd, `${JSON.stringify(header)}\n`);
    source.write(fd, items, added);
  });
  return file;
}

function copyHeader(session: Session, options: CloneOptions): SessionHeader {
  const { header, file } = session;
  const { now = new Date(), id = crypto.randomUUID(), cwd = header.cwd } = options;
  const origin = file === undefined ? {} : { parentSession: resolve(file) };
  // Lines of a future version are copied as they are, so the copy is of that version too.
  const version = Math.max(SESSION_VERSION, header.version ?? 1);
  return { type: "session", version, id, timestamp: now.toISOString(), cwd, ...origin };
}

function copyFile({ id, cwd, timestamp }: SessionHeader, { file, folder, home }: CloneOptions): string {
  const now = new Date(timestamp);
  if (file !== undefined) return resolve(file);
  if (folder !== undefined) return join(resolve(folder), sessionFileName({ id, now }));
  return newSessionFile({ id, cwd, now, ...(home === undefined ? {} : { home }) });
}

function unknownEntry(id: string): BonsaiError {
  return new BonsaiError({
    code: "entry_not_found",
    message: `No entry ${id} in this session.`,
    hint: "List the ids with `bonsai tree FILE`.",
  });
}
