import type { IdTable } from "./id-table.ts";
import type { RecordColumns } from "./record-columns.ts";

/** Why an entry does not hang on an earlier entry with the id that it names. */
export type StrayKind = "missing_parent" | "late_parent" | "cycle";

export interface Stray {
  readonly record: number;
  /** Undefined where the entry names no parent, neither null nor an id. */
  readonly parentId: string | undefined;
  readonly kind: StrayKind;
}

/**
 * Finds a place for the entries whose parent does not stand before them: a later entry of that id, unless
 * that closes a circle; else the nearest earlier entry, counted from a damaged line where one can be what is
 * missing. So nothing that stood before falls out of the model's view.
 *
 * Invariant: every entry reaches a root.
 */
export class StrayParents {
  #strays: Array<{ record: number; parentId: string | undefined }> = [];
  #kinds: StrayKind[] = [];

  add(record: number, parentId: string | undefined): void {
    this.#strays.push({ record, parentId });
  }

  /** Takes back the strays from this record on. */
  dropFrom(record: number): void {
    while ((this.#strays.at(-1)?.record ?? -1) >= record) this.#strays.pop();
  }

  list(): Stray[] {
    return this.#strays.map((stray, index) => ({ ...stray, kind: this.#kinds[index]! }));
  }

  /**
   * Writes the parents into the columns.
   * @param damagedBefore for each damaged line, the number of the record that comes after it, ascending.
   */
  resolve(columns: RecordColumns, ids: IdTable, damagedBefore: readonly number[]): void {
    this.#kinds = [];
    if (this.#strays.length === 0) return;
    for (const { record } of this.#strays) columns.parent[record] = -1;
    const forest = new Forest(columns);
    const bridges = new Bridges(damagedBefore);
    const standings = new Map<string, number>();
    for (const { record, parentId } of this.#strays) {
      const later = parentId === undefined ? -1 : (standings.get(parentId) ?? ids.oldestOf(parentId));
      if (parentId !== undefined) standings.set(parentId, later);
      const late = later >= 0 && forest.link(record, later);
      this.#kinds.push(later < 0 ? "missing_parent" : late ? "late_parent" : "cycle");
      if (!late) forest.link(record, bridges.targetOf(record, parentId));
    }
  }
}

/** Which root each record hangs on, with shortcuts, so that a circle is seen before it closes. */
class Forest {
  readonly #parent: Int32Array;
  readonly #up: Int32Array;

  constructor(columns: RecordColumns) {
    this.#parent = columns.parent;
    this.#up = columns.parent.slice(0, columns.count);
  }

  /** Hangs a root on a parent; false, and nothing done, when that would close a circle. */
  link(root: number, parent: number): boolean {
    if (parent < 0 || this.#rootOf(parent) === root) return false;
    this.#parent[root] = parent;
    this.#up[root] = parent;
    return true;
  }

  #rootOf(record: number): number {
    let at = record;
    for (let up = this.#up[at]!; up >= 0; up = this.#up[at]!) {
      const next = this.#up[up]!;
      if (next >= 0) this.#up[at] = next;
      at = next >= 0 ? next : up;
    }
    return at;
  }
}

/** Chooses the entry to hang on where the parent stands nowhere. Entries that miss the same id share one. */
class Bridges {
  readonly #damagedBefore: readonly number[];
  readonly #targets = new Map<string, number>();
  /** How many damaged lines already explain a missing id. */
  #explained = 0;

  constructor(damagedBefore: readonly number[]) {
    this.#damagedBefore = damagedBefore;
  }

  targetOf(record: number, parentId: string | undefined): number {
    const known = parentId === undefined ? undefined : this.#targets.get(parentId);
    const target = known ?? this.#damageBefore(record) - 1;
    if (parentId !== undefined) this.#targets.set(parentId, target);
    return target;
  }

  /** The record after the nearest damaged line that explains nothing yet; without one, the record itself. */
  #damageBefore(record: number): number {
    let at = this.#explained;
    while (at < this.#damagedBefore.length && this.#damagedBefore[at]! <= record) at += 1;
    if (at === this.#explained) return record;
    this.#explained = at;
    return this.#damagedBefore[at - 1]!;
  }
}
