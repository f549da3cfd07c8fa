import { continuedCopy, writeRestoredCopy } from "./continued-copy.ts";
import { findProblems, type Problem } from "./doctor/problems.ts";
import {
  customTypes,
  type Entry,
  type EntryDraftWithId,
  SESSION_VERSION,
  type SessionHeader,
} from "./entry.ts";
import { type SessionNotice, SessionNotices } from "./notices.ts";
import { isCompanion, LEAF_RECORD, leafAfter } from "./own-entries.ts";
import { type Projection, type ProjectOptions, project } from "./projection.ts";
import type { EntryIndex } from "./read/entry-index.ts";
import { entryNotFound, LatestEntries, type ScannedEntry, SessionReader } from "./read/session-reader.ts";
import { type Durability, SessionWriter } from "./read/session-writer.ts";
import { LiveView, type PathSettings, type RecentSettings, recentSettings, type Tail } from "./read/tail.ts";
import { countBranches, recordKinds, SessionTree } from "./read/tree.ts";
import { readOnlyFailure, type SessionStore } from "./store/store.ts";

/** The parts of a session; `openSession` and `createSession` put them together. */
interface SessionParts {
  header: SessionHeader;
  store: SessionStore;
  /** 1, 2 or 3: how the store is to be read. */
  version: number;
  /** Why nothing may be appended, although the store could. */
  readOnly?: string | undefined;
  durability?: Durability | undefined;
  /** True for a session without entries. Default: false */
  isNew?: boolean;
  notices?: SessionNotices;
}

/**
 * One open session: owner of the leaf and of every append. The model's view, other branches, labels and the name are read
 * at their first use.
 */
export class Session {
  #header: SessionHeader;
  #reader: SessionReader;
  #writer: SessionWriter;
  #latest: LatestEntries;
  /** The model's view at the leaf; undefined before its first use. */
  #heldView: LiveView | undefined;
  #leafId: string | null;
  /** True once something was appended here, and the session is open. */
  #appended = false;
  /** Size of the store after the last append, if that failed. */
  #failedBytes: number | undefined;
  readonly #readOnly: string | undefined;
  readonly #durability: Durability;
  readonly #notices: SessionNotices;

  constructor(parts: SessionParts) {
    this.#header = parts.header;
    this.#readOnly = parts.readOnly ?? parts.store.readOnly;
    this.#durability = parts.durability ?? "process";
    this.#notices = parts.notices ?? new SessionNotices();
    this.#reader = new SessionReader(parts);
    this.#writer = this.#newWriter(parts.isNew);
    this.#latest = new LatestEntries(this.#reader);
    this.#leafId = this.#reader.leaf((path) => {
      this.#heldView = this.#viewIn(path);
    });
    if (this.#readOnly !== undefined) this.#notices.readOnly(this.#readOnly);
  }

  get header(): SessionHeader {
    return this.#header;
  }

  get id(): string {
    return this.#header.id;
  }

  get cwd(): string {
    return this.#header.cwd;
  }

  /** Absolute path of the file; undefined for a session in memory. Changes if the session continues in a copy. */
  get file(): string | undefined {
    return this.#reader.store.file;
  }

  get store(): SessionStore {
    return this.#reader.store;
  }

  /** The reason why nothing can be appended; undefined if entries can be appended. */
  get readOnly(): string | undefined {
    return this.#readOnly;
  }

  /** Notices for the user, oldest first; each code at most once. */
  get notices(): readonly SessionNotice[] {
    return this.#notices.list;
  }

  /** The current position: the parent of the next appended entry; null before the first. */
  get leafId(): string | null {
    return this.#leafId;
  }

  /**
   * Appends entries as one chain, in one write. The last becomes the leaf. Companions for other programs are stored before
   * it and not returned.
   * @param options.under the parent of the chain, null for none; default: the leaf
   * @throws BonsaiError `append_failed`, `session_read_only`, `entry_not_serializable`, `entry_not_found`: then nothing
   *   changed.
   */
  append(drafts: readonly EntryDraftWithId[], options?: { under?: string | null }): Entry[];
  /** Appends one entry and makes it the leaf. */
  append(draft: EntryDraftWithId, options?: { under?: string | null }): Entry;
  append(
    draft: EntryDraftWithId | readonly EntryDraftWithId[],
    { under }: { under?: string | null } = {},
  ): Entry | Entry[] {
    const drafts = [draft].flat() as EntryDraftWithId[];
    if (drafts.length === 0) return [];
    const isAtLeaf = under === undefined || under === this.#leafId;
    // Looks before the write, because entries that were read can be written again if the file loses them.
    if (isAtLeaf) this.#lookBeforeFirstView();
    else this.#lookForForeign();
    const view = isAtLeaf ? this.#view : this.#viewOf(under);
    const entries = this.#write(drafts, { parentId: isAtLeaf ? this.#leafId : under, view });
    this.#leafId = entries.at(-1)!.id;
    this.#heldView = view.append(entries) ? view : this.#viewOf(this.#leafId);
    const appended = entries.filter((entry) => !isCompanion(entry));
    return Array.isArray(draft) ? appended : appended[0]!;
  }

  /** An id that no entry of this session has: for a draft that must name itself. */
  newId(): string {
    return this.#writer.newId();
  }

  /**
   * Moves the leaf and records the move, so that the next opening comes back here.
   * @throws BonsaiError `entry_not_found`, and what `append` throws: then nothing changed.
   */
  moveTo(id: string | null): void {
    this.#lookForForeign();
    const view = this.#viewOf(id);
    this.#write([LEAF_RECORD], { parentId: id });
    this.#leafId = id;
    this.#heldView = view;
  }

  /** Undoes a compaction on the current path, until it is redone. */
  undoCompaction(compactionId: string): Entry {
    return this.append({ type: "custom", customType: customTypes.undo, data: { compactionId } });
  }

  /** Redoes an undone compaction; later messages stay in view. */
  redoCompaction(compactionId: string): Entry {
    return this.append({ type: "custom", customType: customTypes.redo, data: { compactionId } });
  }

  /** The newest entry with this id. */
  entry(id: string): Entry | undefined {
    // An existing index finds an entry faster than the model's view can be read.
    const view = this.#reader.madeIndex === undefined ? this.#view : this.#heldView;
    return view?.entry(id) ?? this.#reader.entry(id);
  }

  /** Size of the stored bytes. */
  get sizeBytes(): number {
    return this.#reader.store.size();
  }

  /** All entries in file order, those of other processes included. Reads the whole file. */
  entries(): readonly Entry[] {
    return Array.from(this.scan(), ({ entry }) => entry);
  }

  /** All entries in file order, one after the other: no more than one of them is in memory. */
  scan(): Generator<ScannedEntry> {
    this.#lookForForeign();
    return this.#reader.scan();
  }

  /**
   * The entries from a root to `leafId` (default: the current leaf), oldest first.
   * @throws BonsaiError `entry_not_found`.
   */
  path(leafId: string | null = this.#leafId): Entry[] {
    if (leafId === null) return [];
    if (leafId !== this.#leafId) return this.#reader.path(leafId) ?? entryNotFound(leafId);
    if (this.#view.reachesRoot) return [...this.#view.entries];
    return this.#reader.path(leafId, this.#view.entries) ?? entryNotFound(leafId);
  }

  /**
   * The context that the model sees at `leafId` (default: the current leaf).
   * @param options.without ids of compactions that count as undone. Default: none
   * @throws BonsaiError `entry_not_found`.
   */
  projection(leafId: string | null = this.#leafId, { without }: ProjectOptions = {}): Projection {
    if (without !== undefined) return project(this.#tailOf(leafId, without).entries, { without });
    return leafId === this.#leafId ? this.#view.projection() : project(this.#tailOf(leafId).entries);
  }

  /**
   * The entries from `leafId` (default: the current leaf) back to the start of the model's view, newest first. Those of
   * the current leaf are in memory.
   * @param projection that of the leaf, if the caller has it
   * @throws BonsaiError `entry_not_found`.
   */
  *tail(leafId: string | null = this.#leafId, projection = this.projection(leafId)): Generator<Entry> {
    const { entries } = leafId === this.#leafId ? this.#view : this.#tailOf(leafId);
    for (let at = entries.length - 1; at >= 0; at -= 1) {
      yield entries[at]!;
      if (entries[at]!.id === projection.compaction?.firstKeptEntryId) return;
    }
  }

  /** Every entry by id, parent, type and place, as stored now, without parsed bodies. */
  index(): EntryIndex {
    this.#lookForForeign();
    return this.#reader.index();
  }

  /**
   * All entries of all branches as a tree, without their bodies.
   * @param options.isParsed true to parse each entry, so that those with a damaged body are left out. Default: false
   */
  tree({ isParsed = false }: { isParsed?: boolean } = {}): SessionTree {
    this.#lookForForeign();
    // The view is read for its notice of damage.
    if (isParsed) this.#heldView ??= this.#viewOf(this.#leafId);
    return new SessionTree({ reader: this.#reader, leafId: this.#leafId, labels: this.labels(), isParsed });
  }

  /** Number of ends of branches, as that of `tree`. Builds no tree, which takes more time and memory. */
  get branchCount(): number {
    return countBranches(this);
  }

  /** Reads the kind of each entry, one at a step, so that a later `tree` does not have to. */
  *readTreeAhead(): Generator<void> {
    for (const _ of recordKinds(this.#reader)) yield;
  }

  /** The entry of an index record; undefined if its body is damaged. */
  entryAt(recordNumber: number): Entry | undefined {
    return this.#reader.entryAt(recordNumber);
  }

  /** As `entryAt` of many records, without damaged ones. Fastest in ascending order. */
  entriesAt(recordNumbers: Iterable<number>): Generator<ScannedEntry> {
    return this.#reader.entriesAt(recordNumbers);
  }

  /** The label of an entry: that of the latest label entry in file order. */
  label(entryId: string): string | undefined {
    return this.#latest.labels().get(entryId);
  }

  /** All labels by entry id. */
  labels(): ReadonlyMap<string, string> {
    return this.#latest.labels();
  }

  /** The session's name: that of the latest `session_info` entry in file order. */
  get name(): string | undefined {
    return this.#latest.name();
  }

  /** The model and the thinking level that the current path was last worked on with. */
  settings(): PathSettings {
    return this.#reader.settings(this.#view);
  }

  /** The settings as far as `tail` shows them. */
  recentSettings(leafId?: string | null): RecentSettings {
    return recentSettings(this.tail(leafId));
  }

  /** All problems of the file, in file order. Reads and parses all of it. @param visit called with each entry */
  problems(visit?: (entry: Entry) => void): Problem[] {
    return findProblems(this.#reader, visit);
  }

  /** Resolves when other hosts can read every appended entry. @throws BonsaiError `session_lease_lost`, as a rejection */
  async durable(): Promise<void> {
    await this.#reader.store.durable?.();
  }

  /** Ends the use of the file; a second call does nothing. */
  close(): void {
    this.#lookForForeign();
    this.#keepLeaf();
    this.#appended = false;
    this.#failedBytes = undefined;
    this.#reader.store.close();
  }

  /** @param options.view the model's view at the parent; none for drafts that change no view */
  #write(
    drafts: readonly EntryDraftWithId[],
    { parentId, view }: { parentId: string | null; view?: LiveView },
  ): Entry[] {
    if (this.#readOnly !== undefined) throw readOnlyFailure(this.#readOnly);
    if (this.#reader.version < SESSION_VERSION) this.#continueInCopy();
    const entries = this.#writer.make(drafts, parentId, view);
    try {
      this.#writer.write(entries);
    } catch (error) {
      this.#failedBytes = this.#reader.store.size();
      throw error;
    }
    this.#failedBytes = undefined;
    this.#appended = true;
    return entries;
  }

  /** Stores the leaf after a failed append: its first entries may be stored, and the next opening would continue them. */
  #keepLeaf(): void {
    const failedBytes = this.#failedBytes;
    this.#failedBytes = undefined;
    if (failedBytes === undefined || failedBytes !== this.sizeBytes) return;
    try {
      if (this.#reader.leaf() !== this.#leafId) this.#write([LEAF_RECORD], { parentId: this.#leafId });
    } catch {
      // The disk is as full as it was.
    }
  }

  #continueInCopy(): void {
    const { header, store, isEarlier } = continuedCopy({ header: this.#header, reader: this.#reader });
    const original = this.file;
    this.#reader.store.close();
    this.#header = header;
    this.#reader = new SessionReader({ store, version: SESSION_VERSION });
    this.#writer = this.#newWriter();
    this.#latest = new LatestEntries(this.#reader);
    this.#notices.migratedCopy({ original, copy: store.file, isEarlier });
  }

  /** Continues in a copy with the entries of the file and of memory. @throws BonsaiError `session_not_created` */
  #continueInRestoredCopy(unacknowledged: readonly Entry[]): void {
    const { store } = this.#reader;
    const original = store.file;
    const last = unacknowledged.at(-1);
    const leafId = last === undefined ? this.#leafId : leafAfter(last);
    const [leafRecord] = this.#writer.make([LEAF_RECORD], leafId);
    const held = this.#heldView?.entries ?? [];
    const own = [...this.#writer.ownEntries, ...unacknowledged];
    const lost = { header: this.#header, store, held, own, leafRecord: leafRecord! };
    store.continueInCopy!((fd) => writeRestoredCopy(fd, { ...lost, lastId: last?.id ?? leafId }));
    this.#reader.forget();
    // Without a view, no memory restores a lost leaf.
    if (this.#heldView === undefined) this.#leafId = this.#reader.leaf();
    this.#notices.restoredCopy(original, store.file);
  }

  /** Looks for foreign or lost entries once something was appended: to a reader, entries of others are as any other. */
  #lookForForeign(): void {
    try {
      if (this.#appended) this.#writer.look();
    } catch (error) {
      this.#notices.entriesLost(this.file, error as Error);
    }
  }

  /** Continues in a copy if the file lost the leaf before its first use: at the last entry that the file still has. */
  #lookBeforeFirstView(): void {
    const canGoOn = this.#readOnly === undefined && this.#reader.version === SESSION_VERSION;
    if (this.#heldView === undefined && canGoOn) this.#writer.look();
  }

  #newWriter(isNew = false): SessionWriter {
    return new SessionWriter({
      isNew,
      reader: this.#reader,
      durability: this.#durability,
      onForeign: () => this.#notices.foreignEntries(this.file),
      onLost: (unacknowledged) => this.#continueInRestoredCopy(unacknowledged),
    });
  }

  #viewOf(leafId: string | null): LiveView {
    return this.#viewIn(this.#tailOf(leafId));
  }

  #viewIn(tail: Tail): LiveView {
    if (tail.damagedLines !== undefined)
      this.#notices.damagedLines(Math.max(tail.damagedLines, this.#reader.index().damageCount), this.file);
    return new LiveView(tail);
  }

  get #view(): LiveView {
    this.#heldView ??= this.#viewOf(this.#leafId);
    return this.#heldView;
  }

  #tailOf(leafId: string | null, without?: Iterable<string>): Tail {
    return this.#reader.tail(leafId, without) ?? entryNotFound(leafId);
  }
}
