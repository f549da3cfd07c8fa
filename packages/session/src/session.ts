import { randomBytes, randomUUID } from "node:crypto";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { BonsaiError } from "@bonsai-agent/messages";
import {
  type Entry,
  type EntryDraftWithId,
  LEAF_CUSTOM_TYPE,
  SESSION_VERSION,
  type SessionHeader,
  UNDO_CUSTOM_TYPE,
} from "./entry.ts";
import { type Projection, project } from "./projection.ts";

/** One open session: owner of the leaf and of every append. */
export class Session {
  readonly header: SessionHeader;
  /** Absolute path of the file; undefined for a session in memory. */
  readonly file: string | undefined;
  #entries: Entry[];
  #byId: Map<string, Entry>;
  #leafId: string | null;

  constructor(header: SessionHeader, entries: Entry[], file: string | undefined) {
    this.header = header;
    this.file = file;
    this.#entries = entries;
    this.#byId = new Map(entries.map((entry) => [entry.id, entry]));
    const last = entries.at(-1);
    this.#leafId =
      last === undefined
        ? null
        : last.type === "custom" && last.customType === LEAF_CUSTOM_TYPE
          ? last.parentId
          : last.id;
  }

  get id(): string {
    return this.header.id;
  }

  get cwd(): string {
    return this.header.cwd;
  }

  /** The current position: the entry that the next append hangs on; null before the first. */
  get leafId(): string | null {
    return this.#leafId;
  }

  /** Appends entries as one chain below the leaf, in one write; the last becomes the leaf. */
  append(drafts: readonly EntryDraftWithId[]): Entry[];
  /** Appends one entry below the leaf and makes it the leaf. */
  append(draft: EntryDraftWithId): Entry;
  append(draft: EntryDraftWithId | readonly EntryDraftWithId[]): Entry | Entry[] {
    const drafts = Array.isArray(draft) ? (draft as readonly EntryDraftWithId[]) : [draft as EntryDraftWithId];
    let parentId = this.#leafId;
    const entries = drafts.map((fields) => {
      const entry = { ...fields, id: fields.id ?? this.newId(), parentId, timestamp: new Date().toISOString() } as Entry;
      parentId = entry.id;
      return entry;
    });
    this.#write(entries);
    this.#leafId = parentId;
    return Array.isArray(draft) ? entries : entries[0]!;
  }

  /** An id that no entry of this session has: for a draft that must name itself. */
  newId(): string {
    for (;;) {
      const id = randomBytes(4).toString("hex");
      if (!this.#byId.has(id)) return id;
    }
  }

  /** Moves the leaf and records the move, so that the next opening comes back here. */
  moveTo(id: string | null): void {
    if (id !== null && !this.#byId.has(id)) {
      throw new BonsaiError({
        code: "entry_not_found",
        message: `No entry ${id} in this session.`,
        hint: "List the ids with `bonsai tree FILE`.",
      });
    }
    const entry = {
      type: "custom",
      customType: LEAF_CUSTOM_TYPE,
      id: this.newId(),
      parentId: id,
      timestamp: new Date().toISOString(),
    } as Entry;
    this.#write([entry]);
    this.#leafId = id;
  }

  /** Makes a compaction on the current path count no more. */
  undoCompaction(compactionId: string): Entry {
    return this.append({ type: "custom", customType: UNDO_CUSTOM_TYPE, data: { compactionId } });
  }

  entry(id: string): Entry | undefined {
    return this.#byId.get(id);
  }

  /** All entries in file order. */
  entries(): readonly Entry[] {
    return this.#entries;
  }

  /** The entries from a root to `leafId` (default: the current leaf), oldest first. */
  path(leafId: string | null = this.#leafId): Entry[] {
    const path: Entry[] = [];
    for (let id = leafId; id !== null; ) {
      const entry = this.#byId.get(id);
      if (entry === undefined || path.length > this.#entries.length) break;
      path.push(entry);
      id = entry.parentId;
    }
    return path.reverse();
  }

  /** What the model sees at `leafId` (default: the current leaf). */
  projection(leafId: string | null = this.#leafId): Projection {
    return project(this.path(leafId));
  }

  close(): void {}

  #write(entries: Entry[]): void {
    if (this.file !== undefined) {
      appendFileSync(this.file, entries.map((entry) => `\n${JSON.stringify(entry)}\n`).join(""));
    }
    for (const entry of entries) {
      this.#entries.push(entry);
      this.#byId.set(entry.id, entry);
    }
  }
}

/** Opens a session file. */
export function openSession(file: string): Session {
  const lines = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "");
  const [header, ...entries] = lines.map((line) => JSON.parse(line));
  if (header.version === undefined || header.version === 1) {
    let parentId: string | null = null;
    entries.forEach((entry, index) => {
      entry.id = (index + 1).toString(16).padStart(8, "0");
      entry.parentId = parentId;
      parentId = entry.id;
    });
  }
  return new Session(header, entries, file);
}

export interface CreateSessionOptions {
  cwd: string;
  /** Where to write; without it the session lives in memory. */
  file?: string;
  id?: string;
  parentSession?: string;
}

/** Starts a new session. */
export function createSession(options: CreateSessionOptions): Session {
  const header: SessionHeader = {
    type: "session",
    version: SESSION_VERSION,
    id: options.id ?? randomUUID(),
    timestamp: new Date().toISOString(),
    cwd: options.cwd,
    ...(options.parentSession === undefined ? {} : { parentSession: options.parentSession }),
  };
  if (options.file !== undefined)
    writeFileSync(options.file, `${JSON.stringify(header)}\n`, { flag: "wx", mode: 0o600 });
  return new Session(header, [], options.file);
}
