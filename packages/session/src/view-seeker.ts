import { type CompactionEntry, type Entry, UNDO_CUSTOM_TYPE } from "./entry.ts";

/**
 * Walks a path from its leaf towards the root, as far as the model's view of it reaches: to the first kept
 * entry of the latest compaction that nothing undoes. It is the one place where that rule stands, for whole
 * paths and for reading a file backwards.
 *
 * A compaction whose first kept entry is not before it keeps what the compaction before it kept, or
 * everything: damage never hides history.
 */
export class ViewSeeker {
  /** The live compaction, once it was met. */
  compaction: CompactionEntry | undefined;
  readonly #undone = new Set<string>();
  /** The live compaction, then those before it: how many entries each keeps, once that is known. */
  readonly #compactions: Array<{ keptCount: number | undefined }> = [];
  /** Which of them wait for this entry. */
  readonly #awaited = new Map<string, Array<{ keptCount: number | undefined }>>();
  #count = 0;

  /** Takes the next older entry of the path; true when the model sees nothing older. */
  older(entry: Entry): boolean {
    this.#count += 1;
    for (const compaction of this.#awaited.get(entry.id) ?? []) compaction.keptCount = this.#count;
    this.#awaited.delete(entry.id);
    const undone = undoneBy(entry);
    if (undone !== undefined) this.#undone.add(undone);
    if (entry.type === "compaction" && !this.#undone.has(entry.id)) this.#meet(entry);
    return this.#compactions[0]?.keptCount !== undefined;
  }

  /** How many entries, counted from the leaf, the view takes from the path, besides the summary. */
  get keptCount(): number {
    for (const { keptCount } of this.#compactions) if (keptCount !== undefined) return keptCount;
    return this.#count;
  }

  /** True when the live compaction names a first kept entry that the path does not have before it. */
  get lacksKeptEntry(): boolean {
    return this.compaction !== undefined && this.#compactions[0]?.keptCount === undefined;
  }

  #meet(entry: CompactionEntry): void {
    this.compaction ??= entry;
    const keepsNothing = entry.firstKeptEntryId === entry.id;
    const compaction = { keptCount: keepsNothing ? this.#count : undefined };
    this.#compactions.push(compaction);
    if (keepsNothing) return;
    const others = this.#awaited.get(entry.firstKeptEntryId);
    if (others === undefined) this.#awaited.set(entry.firstKeptEntryId, [compaction]);
    else others.push(compaction);
  }
}

/** The compaction that an entry undoes. */
export function undoneBy(entry: Entry): string | undefined {
  if (entry.type !== "custom" || entry.customType !== UNDO_CUSTOM_TYPE) return undefined;
  const { data } = entry;
  const id =
    typeof data === "object" && data !== null && "compactionId" in data ? data.compactionId : undefined;
  return typeof id === "string" ? id : undefined;
}
