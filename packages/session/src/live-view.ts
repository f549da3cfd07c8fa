import type { Entry } from "./entry.ts";
import { pinChange } from "./pin.ts";
import { type Projection, type ProjectionItem, project, projectEntry } from "./projection.ts";
import type { Tail } from "./tail.ts";
import { undoneBy, ViewSeeker } from "./view-seeker.ts";

/** Up to here, a path stays whole in memory after a compaction, so that asking for it reads nothing. */
const WHOLE_PATH_ENTRIES = 4096;

interface GrowingProjection extends Projection {
  readonly items: ProjectionItem[];
}

/**
 * The path that the session stands on, as far as the model sees it, and its projection, which grows with the
 * path. Owner of both.
 *
 * Invariant: the projection equals `project(path)`.
 */
export class LiveView {
  #entries: Entry[];
  #reachesRoot: boolean;
  readonly #byId = new Map<string, Entry>();
  #projection: GrowingProjection;
  /** True once somebody was given the list of items: then the next change is made to a copy. */
  #handedOut = false;

  constructor(tail: Tail) {
    this.#entries = tail.entries;
    this.#reachesRoot = tail.reachesRoot;
    for (const entry of tail.entries) this.#byId.set(entry.id, entry);
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
    return this.#byId.get(id);
  }

  /** What the model sees. A later append does not change what was given. */
  projection(): Projection {
    this.#handedOut = true;
    const { items, compaction } = this.#projection;
    return compaction ? { items, compaction } : { items };
  }

  /**
   * Adds entries that continue the path. Costs the same however long the path is, except for entries that
   * change what stands before them.
   * @returns false when what the model sees now begins before the entries in memory: read the tail anew.
   */
  append(entries: readonly Entry[]): boolean {
    for (const entry of entries) {
      this.#entries.push(entry);
      this.#byId.set(entry.id, entry);
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
    if (added.some((entry) => undoneBy(entry) !== undefined)) return true;
    return seekView(this.#entries).lacksKeptEntry;
  }

  /** Lets go of what a compaction hid, once there is much of it. */
  #forgetHidden(): void {
    const seeker = seekView(this.#entries);
    if (seeker.compaction === undefined || seeker.lacksKeptEntry) return;
    const hidden = this.#entries.length - seeker.keptCount;
    if (hidden === 0 || this.#entries.length < WHOLE_PATH_ENTRIES) return;
    for (const entry of this.#entries.splice(0, hidden)) this.#byId.delete(entry.id);
    this.#reachesRoot = false;
  }
}

function seekView(entries: readonly Entry[]): ViewSeeker {
  const seeker = new ViewSeeker();
  for (const entry of entries.toReversed()) if (seeker.older(entry)) break;
  return seeker;
}

/** True for entries after which the model sees something else of what stood before. */
function changesView(entry: Entry): boolean {
  const { type } = entry;
  return (
    type === "compaction" ||
    type === "context_edit" ||
    undoneBy(entry) !== undefined ||
    pinChange(entry) !== undefined
  );
}
