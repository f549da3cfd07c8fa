import type { EntryIndex } from "./entry-index.ts";
import type { SessionReader } from "./session-reader.ts";

/** What the latest entry of a kind in file order says: labels and the name. Reads only what is new each time. */
export class LatestEntries {
  readonly #reader: SessionReader;
  readonly #labels = new Map<string, string>();
  #name: string | undefined;
  #labelsReadTo = 0;
  #namesReadTo = 0;
  #index: EntryIndex | undefined;

  constructor(reader: SessionReader) {
    this.#reader = reader;
  }

  label(entryId: string): string | undefined {
    return this.labels().get(entryId);
  }

  labels(): ReadonlyMap<string, string> {
    const index = this.#newIndex(this.#labelsReadTo);
    for (const number of index.numbersOf("label", this.#labelsReadTo)) this.#readLabel(number);
    this.#labelsReadTo = index.settledCount;
    return this.#labels;
  }

  name(): string | undefined {
    const index = this.#newIndex(this.#namesReadTo);
    for (const number of index.numbersOf("session_info", this.#namesReadTo).reverse()) {
      const entry = this.#reader.entryAt(number);
      if (entry?.type !== "session_info") continue;
      this.#name = typeof entry.name === "string" && entry.name !== "" ? entry.name : undefined;
      break;
    }
    this.#namesReadTo = index.settledCount;
    return this.#name;
  }

  /** The index as it is now; where it is another or a shorter one, what was read before counts no more. */
  #newIndex(readTo: number): EntryIndex {
    const index = this.#reader.index();
    if (index !== this.#index || index.count < readTo) this.#forget();
    this.#index = index;
    return index;
  }

  #forget(): void {
    this.#labels.clear();
    this.#name = undefined;
    this.#labelsReadTo = this.#namesReadTo = 0;
  }

  #readLabel(number: number): void {
    const entry = this.#reader.entryAt(number);
    if (entry?.type !== "label") return;
    if (typeof entry.label === "string" && entry.label !== "") this.#labels.set(entry.targetId, entry.label);
    else this.#labels.delete(entry.targetId);
  }
}
