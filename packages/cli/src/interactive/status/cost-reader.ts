import type { CostSum } from "@bonsai-agent/messages";
import type { Entry, EntryRecord, Session } from "@bonsai-agent/session";
import { FactCounter } from "../../session-facts.ts";

/** So long is read in one go: a key that is pressed meanwhile waits no longer. */
const SLICE_MS = 6;
const ENTRIES_AT_ONCE = 16;

export interface CostReaderOptions {
  session: Pick<Session, "index" | "entryAt">;
  /** Told once, with the cost in US dollars of all that the session had at the beginning; never where it cannot be read. */
  onDone: (costUsd: number, cost: CostSum) => void;
}

/** Adds up what a session has cost, over all its branches, a slice at a time, between the keys. */
export class CostReader {
  readonly #options: CostReaderOptions;
  readonly #records: readonly EntryRecord[];
  readonly #counter = new FactCounter();
  #at = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: CostReaderOptions) {
    this.#options = options;
    this.#records = [...options.session.index().records()].filter(({ type }) => costing.has(type));
    this.#wait();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #wait(): void {
    this.#timer = setTimeout(() => this.#read(), 1).unref();
  }

  #read(): void {
    try {
      this.#readSlice();
    } catch {
      // The file is gone, which whoever writes to it will tell; the footer goes on with what it knows.
      return;
    }
    if (this.#at < this.#records.length) this.#wait();
    else this.#done();
  }

  #done(): void {
    const { usage, cost } = this.#counter.facts();
    this.#options.onDone(usage.cost.total, cost);
  }

  #readSlice(): void {
    const until = performance.now() + SLICE_MS;
    do this.#add(this.#records.slice(this.#at, this.#at + ENTRIES_AT_ONCE));
    while (this.#at < this.#records.length && performance.now() < until);
  }

  #add(records: readonly EntryRecord[]): void {
    this.#at += records.length;
    for (const { number } of records) {
      // By its number: for an id, the session would look each time whether the file has grown.
      const entry = this.#options.session.entryAt(number);
      if (entry !== undefined) this.#counter.add(entry);
    }
  }
}

/** The entries that tell of a use. */
const costing = new Set<string>([
  "message",
  "compaction",
  "branch_summary",
  "usage",
] satisfies Entry["type"][]);
