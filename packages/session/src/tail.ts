import { type Entry, LEAF_CUSTOM_TYPE } from "./entry.ts";
import { entryFrom } from "./entry-body.ts";
import { EntryHead, parseLine } from "./entry-head.ts";
import { BackwardLines, type Line } from "./line-reader.ts";
import type { SessionStore } from "./session-store.ts";
import { ViewSeeker } from "./view-seeker.ts";

/** The end of a path, as far back as the model sees it. */
export interface Tail {
  readonly leafId: string | null;
  /** Oldest first. */
  readonly entries: Entry[];
  /** True when the first entry is a root: then this is the whole path. */
  readonly reachesRoot: boolean;
}

/** The position that an entry leaves a session at when it is the last of the file. */
export function leafAfter(entry: Entry): string | null {
  return entry.type === "custom" && entry.customType === LEAF_CUSTOM_TYPE ? entry.parentId : entry.id;
}

/**
 * Reads a file from its end backwards, until the model's view of a leaf is complete.
 * @param leafId default: where the file's last entry leaves the session.
 * @returns undefined where only the whole file can tell: no such leaf, or a parent that does not stand before
 *   its child.
 */
export function readTail(options: {
  store: SessionStore;
  version: number;
  leafId?: string | null;
}): Tail | undefined {
  if (options.version === 1) return undefined;
  if (options.leafId === null) return { leafId: null, entries: [], reachesRoot: true };
  return new TailReader(options).read();
}

class TailReader {
  readonly #store: SessionStore;
  readonly #version: number;
  readonly #head = new EntryHead();
  readonly #seeker = new ViewSeeker();
  readonly #newestFirst: Entry[] = [];
  /** Undefined until it is known. */
  #leafId: string | null | undefined;
  /** The leaf that was asked for, until it is found. */
  #askedLeafId: string | null | undefined;
  /** The id of the entry to find next; undefined while any entry may be the leaf. */
  #wanted: string | null | undefined;
  /** True once a line was met that only the index can place. */
  #unclear = false;

  constructor(options: { store: SessionStore; version: number; leafId?: string | null }) {
    this.#store = options.store;
    this.#version = options.version;
    this.#leafId = this.#wanted = this.#askedLeafId = options.leafId;
  }

  read(): Tail | undefined {
    const lines = new BackwardLines(this.#store);
    let complete = false;
    for (let line = lines.previous(); line !== undefined && !complete; ) {
      complete = this.#older(line);
      if (this.#unclear) return undefined;
      if (!complete) line = lines.previous();
    }
    if (this.#leafId === undefined) return { leafId: null, entries: [], reachesRoot: true };
    if (!complete) return undefined;
    return {
      leafId: this.#leafId,
      entries: this.#newestFirst.reverse(),
      reachesRoot: this.#wanted === null,
    };
  }

  /** Takes the next older line; true when nothing older is needed. */
  #older(line: Line): boolean {
    const head = this.#head;
    const kind = head.read(line, this.#store);
    // An id made from a line number is known only to who counted the lines.
    if (kind === "no_id" && this.#wanted === undefined) this.#unclear = true;
    if (kind !== "entry" || (head.torn && this.#mustBeWhole())) return false;
    const { id, parentId } = head;
    if (this.#wanted !== undefined && this.#wanted !== id) return false;
    const entry = head.torn ? undefined : this.#entry(line, { id, parentId });
    if (entry === undefined && this.#mustBeWhole()) return false;
    if (parentId === undefined) {
      this.#unclear = true;
      return false;
    }
    return this.#step(entry, parentId);
  }

  /** A leaf has a body; further up the path, one that is lost is stepped over. */
  #mustBeWhole(): boolean {
    return this.#wanted === undefined || this.#wanted === this.#askedLeafId;
  }

  /** Goes one entry up the path; a lost body is stepped over. */
  #step(entry: Entry | undefined, parentId: string | null): boolean {
    const isLast = this.#wanted === undefined;
    this.#wanted = parentId;
    this.#askedLeafId = undefined;
    if (entry === undefined) this.#stepOver(parentId);
    else if (isLast && leafAfter(entry) !== entry.id) this.#leafId = parentId;
    else {
      this.#leafId ??= entry.id;
      this.#newestFirst.push(entry);
      if (this.#seeker.older(entry)) return true;
    }
    return parentId === null;
  }

  /** Hangs what hung on a lost body on that one's parent. */
  #stepOver(parentId: string | null): void {
    const child = this.#newestFirst.at(-1);
    if (child === undefined) this.#leafId = parentId;
    else child.parentId = parentId;
  }

  #entry(line: Line, head: { id: string; parentId: string | null | undefined }): Entry | undefined {
    const place = { id: head.id, parentId: head.parentId ?? null, version: this.#version };
    return entryFrom(parseLine(line, this.#store), place);
  }
}
