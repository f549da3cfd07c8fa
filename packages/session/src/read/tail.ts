import type { Entry } from "../entry.ts";
import { compactionChange, isLeafRecord } from "../own-entries.ts";
import {
  changesView,
  type Projection,
  type ProjectionItem,
  project,
  projectEntry,
  ViewFinder,
} from "../projection.ts";
import { BackwardLines, type Line, readBytes } from "../store/line-reader.ts";
import type { SessionStore } from "../store/store.ts";
import { EntryHead, type LineKind, parseBytes } from "./entry-head.ts";
import { firstWholeEntry, gluedEntries } from "./glued-entries.ts";
import { entryFrom } from "./sound-entry.ts";

/** The end of a path, as far back as the model sees it. */
export interface Tail {
  readonly leafId: string | null;
  /** Oldest first. */
  readonly entries: Entry[];
  /** True when the first entry is a root: then this is the whole path. */
  readonly reachesRoot: boolean;
  /** Number of damaged lines in the view; 0 if only an entry is missing. Absent if nothing is damaged. */
  readonly damagedLines?: number;
}

/** The path before the first entry. */
export const emptyTail = (): Tail => ({ leafId: null, entries: [], reachesRoot: true });

const DAMAGED_KINDS: ReadonlySet<LineKind> = new Set(["damaged_line", "nul_bytes", "not_an_entry"]);

/**
 * Reads a file from its end backwards. Undefined results mean that the index must read the whole file: there is no such
 * leaf, or a parent is not before its child.
 */
export class TailReader {
  readonly #store: SessionStore;
  readonly #version: number;
  readonly #endOffset: number | undefined;
  readonly #head = new EntryHead();
  readonly #finder: ViewFinder;
  readonly #newestFirst: Entry[] = [];
  /** Undefined until it is known. */
  #leafId: string | null | undefined;
  /** The leaf of the caller, until it is found. */
  #askedLeafId: string | undefined;
  /** The id of the entry to find next; undefined while any entry may be the leaf. */
  #wanted: string | null | undefined;
  /** True after a line that only the index can place. */
  #unclear = false;
  #damagedLines = 0;

  /**
   * @param options.leafId default: the stored leaf
   * @param options.without compactions that count as undone. Default: none
   * @param options.endOffset the path ends before this byte. Default: the end of the file
   */
  constructor(options: {
    store: SessionStore;
    version: number;
    leafId?: string | undefined;
    without?: Iterable<string> | undefined;
    endOffset?: number | undefined;
  }) {
    this.#endOffset = options.endOffset;
    this.#finder = new ViewFinder(options.without);
    this.#store = options.store;
    this.#version = options.version;
    this.#leafId = this.#wanted = this.#askedLeafId = options.leafId;
  }

  /** The session's leaf; null before the first entry. */
  readLeaf(): string | null | undefined {
    const isComplete = this.#readUntil(1);
    return isComplete || this.#newestFirst.length === 1 ? this.#leafId : this.#beforeFirst();
  }

  /** The path to the leaf, as far back as the model's view. */
  read(): Tail | undefined {
    if (!this.#readUntil(Number.POSITIVE_INFINITY))
      return this.#beforeFirst() === null ? emptyTail() : undefined;
    return {
      leafId: this.#leafId ?? null,
      entries: this.#newestFirst.reverse(),
      reachesRoot: this.#wanted === null,
      ...(this.#damagedLines > 0 && { damagedLines: this.#damagedLines }),
    };
  }

  /** After the whole file was read: null if it has no entry, undefined if the index must find the leaf. */
  #beforeFirst(): null | undefined {
    return this.#unclear || this.#leafId !== undefined ? undefined : null;
  }

  /** Takes older and older lines; true when it ended because nothing older is needed. */
  #readUntil(maxEntries: number): boolean {
    const lines = new BackwardLines(this.#store, this.#endOffset);
    for (let line = lines.previous(); line !== undefined; line = lines.previous()) {
      if (this.#older(line, lines)) return true;
      if (this.#unclear || this.#newestFirst.length >= maxEntries) return false;
    }
    return false;
  }

  /** Adds the next older line, its newest entry first. Returns true once nothing older is needed. */
  #older(line: Line, lines: BackwardLines): boolean {
    const head = this.#head;
    const kind = head.read(line, this.#store);
    // The line of another branch. The index finds a wanted entry after another entry in one line.
    if (kind === "entry" && !head.isCutOff && this.#isPassedOver()) {
      lines.skipLinesWithout(Buffer.from(JSON.stringify(this.#wanted)));
      return false;
    }
    const entries = head.isSuspect(line, kind) ? gluedEntries(line, this.#store) : undefined;
    if (entries !== undefined || (line.ended && DAMAGED_KINDS.has(kind))) this.#damagedLines += 1;
    if (entries === undefined) return this.#olderEntry(line, kind);
    return entries.toReversed().some((entry) => this.#olderEntry(entry, head.read(entry, this.#store)));
  }

  #olderEntry(line: Line, kind: LineKind): boolean {
    const head = this.#head;
    // An id made from a line number is known only after the lines were counted.
    if (kind === "no_id" && this.#wanted === undefined) this.#unclear = true;
    if (kind !== "entry" || (head.isCutOff && this.#mustBeWhole())) return false;
    if (this.#isPassedOver()) return false;
    const { id, parentId } = head;
    const entry = head.isCutOff ? undefined : this.#entry(line, { id, parentId });
    if (entry === undefined && line.ended) this.#damagedLines += 1;
    if (entry === undefined && this.#mustBeWhole()) return false;
    if (parentId === undefined) {
      this.#unclear = true;
      return false;
    }
    return this.#step(entry, parentId);
  }

  /** True if the entry of the head is not the wanted one. */
  #isPassedOver(): boolean {
    return typeof this.#wanted === "string" && !this.#head.isNamed(this.#wanted);
  }

  /** Skips a lost body, except at the leaf, which must have one. */
  #mustBeWhole(): boolean {
    return this.#wanted === undefined || this.#wanted === this.#askedLeafId;
  }

  /** Goes one entry up the path. Skips a lost body. */
  #step(entry: Entry | undefined, parentId: string | null): boolean {
    const isLast = this.#wanted === undefined;
    this.#wanted = parentId;
    this.#askedLeafId = undefined;
    if (entry === undefined) this.#stepOver(parentId);
    else if (isLast && isLeafRecord(entry)) this.#leafId = parentId;
    else {
      this.#leafId ??= entry.id;
      this.#newestFirst.push(entry);
      if (this.#finder.add(entry)) return true;
    }
    return parentId === null;
  }

  /** Gives the children of a lost body its parent. */
  #stepOver(parentId: string | null): void {
    const child = this.#newestFirst.at(-1);
    if (child === undefined) this.#leafId = parentId;
    else child.parentId = parentId;
  }

  #entry(line: Line, head: { id: string; parentId: string | null | undefined }): Entry | undefined {
    const place = { id: head.id, parentId: head.parentId ?? null, version: this.#version };
    const bytes = line.whole ? line.bytes.subarray(line.start, line.end) : readBytes(this.#store, line);
    return entryFrom(parseBytes(bytes) ?? firstWholeEntry(bytes), place);
  }
}

/** A path up to this size stays whole in memory after a compaction, so that reading it needs no file. */
const WHOLE_PATH_ENTRIES = 4096;

interface GrowingProjection extends Projection {
  readonly items: ProjectionItem[];
}

/**
 * The session's current path, as far as the model sees it, and its projection, which grows with the path. Owner of both.
 *
 * Invariant: the projection equals `project(path)`.
 */
export class LiveView {
  #entries: Entry[];
  #reachesRoot: boolean;
  /** Undefined until an entry is looked up. */
  #byId: Map<string, Entry> | undefined;
  #projection: GrowingProjection;
  /** True once a caller has the list of items: the next change is then made to a copy. */
  #handedOut = false;

  constructor(tail: Tail) {
    this.#entries = tail.entries;
    this.#reachesRoot = tail.reachesRoot;
    this.#projection = project(this.#entries) as GrowingProjection;
  }

  /** Oldest first; the whole path when `reachesRoot`. */
  get entries(): readonly Entry[] {
    return this.#entries;
  }

  get reachesRoot(): boolean {
    return this.#reachesRoot;
  }

  entry(id: string): Entry | undefined {
    this.#byId ??= new Map(this.#entries.map((entry) => [entry.id, entry]));
    return this.#byId.get(id);
  }

  /** The context that the model sees. A later append does not change a returned projection. */
  projection(): Projection {
    this.#handedOut = true;
    const { items, compaction } = this.#projection;
    return compaction ? { items, compaction } : { items };
  }

  /**
   * Adds entries that continue the path. The cost does not grow with the path, except for entries that
   * change earlier ones.
   * @returns false if the view now begins before the entries in memory: the tail must be read again
   */
  append(entries: readonly Entry[]): boolean {
    for (const entry of entries) {
      this.#entries.push(entry);
      this.#byId?.set(entry.id, entry);
    }
    if (entries.some(changesView)) return this.#viewAnew(entries);
    for (const entry of entries) this.#addItem(projectEntry(entry));
    return true;
  }

  #addItem(item: ProjectionItem | undefined): void {
    if (item === undefined) return;
    if (this.#handedOut) this.#projection = { ...this.#projection, items: [...this.#projection.items] };
    this.#handedOut = false;
    this.#projection.items.push(item);
  }

  #viewAnew(added: readonly Entry[]): boolean {
    if (!this.#reachesRoot && this.#needsOlder(added)) return false;
    this.#projection = project(this.#entries) as GrowingProjection;
    this.#handedOut = false;
    this.#forgetHidden();
    return true;
  }

  #needsOlder(added: readonly Entry[]): boolean {
    if (added.some((entry) => compactionChange(entry) !== undefined)) return true;
    return lacksKeptEntry(this.#entries);
  }

  /** Drops hidden entries from memory, once they are many. */
  #forgetHidden(): void {
    const finder = ViewFinder.in(this.#entries);
    if (finder.compaction === undefined || finder.lacksKeptEntry) return;
    const hidden = this.#entries.length - finder.keptCount;
    if (hidden === 0 || this.#entries.length < WHOLE_PATH_ENTRIES) return;
    for (const entry of this.#entries.splice(0, hidden)) this.#byId?.delete(entry.id);
    this.#reachesRoot = false;
  }
}

/** True if the live compaction at the end of a path names a first kept entry that the path lacks. */
export function lacksKeptEntry(path: readonly Entry[]): boolean {
  return ViewFinder.in(path).lacksKeptEntry;
}

/** The last model and thinking level of a path; absent if no entry names them. */
export interface PathSettings {
  model?: { provider: string; modelId: string };
  thinkingLevel?: string;
}

/** The settings that the newer part of a path names. */
export interface RecentSettings extends PathSettings {
  /** True if that part is the whole path. */
  isWhole: boolean;
}

/** @param tail entries of a path, newest first */
export function recentSettings(tail: Iterable<Entry>): RecentSettings {
  const finder = new SettingsFinder();
  let oldest: Entry | undefined;
  for (const entry of tail) {
    oldest = entry;
    finder.addOlder(entry);
    if (finder.done) break;
  }
  return { ...finder.found, isWhole: (oldest?.parentId ?? null) === null };
}

/** Finds the settings of a path, from its end towards the root. */
export class SettingsFinder {
  readonly found: PathSettings = {};

  get done(): boolean {
    return this.found.model !== undefined && this.found.thinkingLevel !== undefined;
  }

  /** True for a type of entry that can have a setting that is not known yet. */
  wants(type: string): boolean {
    if (type === "thinking_level_change") return this.found.thinkingLevel === undefined;
    return (type === "model_change" || type === "message") && this.found.model === undefined;
  }

  addOlder(entry: Entry): void {
    if (entry.type === "thinking_level_change") this.found.thinkingLevel ??= entry.thinkingLevel;
    if (entry.type === "model_change") this.#foundModel(entry.provider, entry.modelId);
    if (entry.type === "message" && entry.message?.role === "assistant") {
      this.#foundModel(entry.message.provider, entry.message.model);
    }
  }

  #foundModel(provider: unknown, modelId: unknown): void {
    if (typeof provider !== "string" || typeof modelId !== "string") return;
    this.found.model ??= { provider, modelId };
  }
}
