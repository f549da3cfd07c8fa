import {
  type BranchSummaryEntry,
  type CompactionEntry,
  type EntryIndex,
  pinChange,
  type Session,
} from "@bonsai-agent/session";

/** A summary that a session holds. */
export type SummaryEntry = CompactionEntry | BranchSummaryEntry;

/** The original entries that a summary stands for, and which entries its lines may name. */
export class SummarisedSpan {
  /** Of their records, oldest first, each once. */
  readonly numbers: readonly number[];
  readonly #session: Session;
  readonly #index: EntryIndex;
  /** By number: 1 for an entry that a line may name. */
  readonly #nameable: Uint8Array;

  constructor(session: Session, entry: SummaryEntry) {
    this.#session = session;
    this.#index = session.index();
    this.#nameable = new Uint8Array(this.#index.count);
    this.numbers =
      entry.type === "compaction"
        ? this.#beforeCut(entry)
        : this.#originals(this.#branch(entry), new Set([entry.id]));
  }

  /** Entries that are known as data, without those that this session does not have. */
  known(entryIds: readonly string[]): string[] {
    return unique(entryIds).filter((id) => this.#isNameable(id));
  }

  /** Entries that a text names in brackets, as a digest does. */
  cited(text: string): string[] {
    const named = [...text.matchAll(/\[([^[\]\s]{4,64})\]/g)].map(([, id]) => id!);
    return this.known(named).slice(0, MOST_CITED);
  }

  /** The latest entries that pin these texts. */
  pins(pinned: readonly string[]): Map<string, string> {
    const wanted = new Set(pinned);
    const pins = new Map<string, string>();
    if (pinned.length === 0) return pins;
    for (const number of this.#index.numbersOf("custom_message")) {
      const entry = this.#nameable[number] === 1 ? this.#session.entryAt(number) : undefined;
      const change = entry && pinChange(entry);
      if (change?.isPinned && wanted.has(change.text)) pins.set(change.text, entry!.id);
    }
    return pins;
  }

  #isNameable(id: string): boolean {
    const number = this.#index.find(id);
    return number >= 0 && this.#nameable[number] === 1;
  }

  /** What stands before the first kept entry; all of the path where that is not on it. */
  #beforeCut({ id, parentId, firstKeptEntryId }: CompactionEntry): number[] {
    const path = this.#pathTo(parentId);
    let kept = firstKeptEntryId === id ? -1 : this.#index.find(firstKeptEntryId);
    while (kept >= 0 && this.#nameable[kept] !== 1) kept = this.#index.earlierOfSameId(kept);
    return this.#originals(kept < 0 ? path : path.slice(0, path.indexOf(kept)), new Set());
  }

  /** The entries of the branch that a summary is of. */
  #branch({ fromId, parentId }: BranchSummaryEntry): number[] {
    const leaf = this.#index.find(fromId);
    const target = parentId === null ? -1 : this.#index.find(parentId);
    const parted = leaf < 0 || target < 0 ? -1 : this.#index.commonAncestor(leaf, target);
    const path = this.#pathTo(leaf < 0 ? null : fromId);
    return path.slice(path.indexOf(parted) + 1);
  }

  /** From a root; all of it may be named. */
  #pathTo(id: string | null): number[] {
    const number = id === null ? -1 : this.#index.find(id);
    const path = number < 0 ? [] : this.#index.ancestry(number);
    for (const at of path) this.#nameable[at] = 1;
    return path;
  }

  /** With the entries of a branch in the place of its summary, where the session has them; each once. */
  #originals(numbers: number[], seen: Set<string>): number[] {
    if (!numbers.some((number) => this.#index.type(number) === "branch_summary")) return numbers;
    return [...new Set(numbers.flatMap((number) => this.#original(number, seen)))];
  }

  #original(number: number, seen: Set<string>): number | number[] {
    if (this.#index.type(number) !== "branch_summary") return number;
    const entry = this.#session.entryAt(number);
    if (entry?.type !== "branch_summary" || seen.has(entry.id)) return [];
    seen.add(entry.id);
    const branch = this.#originals(this.#branch(entry), seen);
    return branch.length === 0 ? number : branch;
  }
}

const MOST_CITED = 8;

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
