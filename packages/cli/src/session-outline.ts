import { type Entry, type EntryIndex, LEAF_CUSTOM_TYPE, type Session, undoneBy } from "@bonsai-agent/session";
import { kindOf } from "./preview.ts";

/** An entry without its body: enough for a tree, and light enough for a hundred thousand of them. */
export interface OutlineEntry {
  /** Its record in the session's index. */
  readonly number: number;
  readonly id: string;
  readonly parentId: string | null;
  readonly type: Entry["type"];
  /** The word for it in a column. */
  readonly kind: string;
  /** True for the record of a moved leaf. */
  readonly isLeafRecord: boolean;
  /** Id of the compaction that it takes back. */
  readonly undoes?: string;
}

/** All entries in file order, without their bodies. */
export function sessionOutline(session: Session): OutlineEntry[] {
  const outline: OutlineEntry[] = [];
  for (const { entry, number } of session.scan()) outline.push(outlineEntry(entry, number));
  return outline;
}

export function outlineEntry(entry: Entry, number: number): OutlineEntry {
  const { id, parentId, type } = entry;
  const isLeafRecord = isLeafMark(entry);
  const undoes = undoneBy(entry);
  return {
    number,
    id,
    parentId,
    type,
    kind: kindOf(entry),
    isLeafRecord,
    ...(undoes === undefined ? {} : { undoes }),
  };
}

function isLeafMark(entry: Entry): boolean {
  return entry.type === "custom" && entry.customType === LEAF_CUSTOM_TYPE;
}

/** Counts the ends of a tree, two bytes an entry: as `branchCount` of its `sessionTree`, which need not be made for it. */
export class BranchEnds {
  readonly #index: EntryIndex;
  readonly #isLeafMark: Uint8Array;
  readonly #isEntry: Uint8Array;

  constructor(index: EntryIndex) {
    this.#index = index;
    this.#isLeafMark = new Uint8Array(index.count);
    this.#isEntry = new Uint8Array(index.count);
  }

  add(entry: Entry, number: number): void {
    this.#isEntry[number] = 1;
    if (isLeafMark(entry)) this.#isLeafMark[number] = 1;
  }

  /** Records of a moved leaf that nothing hangs on are no ends, nor do they make their parents others. */
  count(): number {
    const hasChild = this.#parentsOf(() => true);
    const hasShownChild = this.#parentsOf((at) => hasChild[at] === 1 || this.#isLeafMark[at] === 0);
    return this.#isEntry.reduce(
      (ends, isEntry, at) =>
        ends + (isEntry === 1 && hasShownChild[at] === 0 && this.#isLeafMark[at] === 0 ? 1 : 0),
      0,
    );
  }

  #parentsOf(counts: (at: number) => boolean): Uint8Array {
    const parents = new Uint8Array(this.#isEntry.length);
    this.#isEntry.forEach((isEntry, at) => {
      const parent = isEntry === 1 && counts(at) ? this.#index.parent(at) : -1;
      if (parent >= 0) parents[parent] = 1;
    });
    return parents;
  }
}
