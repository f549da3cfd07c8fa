import type { LifecycleEvents } from "@bonsai-agent/agent";
import { FactCounter, type IsFree } from "@bonsai-agent/app/session-facts";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { CostSum, type KnownCost, type Usage } from "@bonsai-agent/messages";
import type { Entry, EntryRecord, Session } from "@bonsai-agent/session";

/** What a session has cost so far, over all its branches: what it brought along, and what is told since. */
export class SessionCost {
  #before = new CostSum();
  #since = new CostSum();
  #model: string | undefined;
  #reader: CostReader | undefined;

  cost(isFree: IsFree): KnownCost {
    const sum = new CostSum();
    sum.addSum(this.#before);
    sum.addSum(this.#since);
    return sum.cost(isFree);
  }

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    lifecycle.on("session_start", ({ reason }) => {
      if (reason === "reload") return;
      this.stop();
      this.#before = new CostSum();
      this.#since = new CostSum();
    });
    lifecycle.on("session_shutdown", () => this.stop());
    lifecycle.on("message_stored", ({ message }) => {
      if (message.role === "assistant") this.#model = `${message.provider}/${message.model}`;
      if (message.role === "assistant" || message.role === "toolResult") this.#add(message.usage);
    });
    lifecycle.on("session_compact", ({ compactionEntry }) => this.#add(compactionEntry.usage));
    lifecycle.on("session_tree", ({ summaryEntry }) => this.#add(summaryEntry?.usage));
  }

  /**
   * Reads the whole session, to be called once for each, after `session_start`. @param onRead called when that is done
   */
  bring(session: Pick<Session, "index" | "entryAt">, onRead: () => void): void {
    this.stop();
    // What is told from now on is not read.
    this.#before.addSum(this.#since);
    this.#since = new CostSum();
    this.#reader = new CostReader({
      session,
      onDone: (_, cost) => {
        this.#before = cost;
        onRead();
      },
    });
  }

  /** Reads no further. */
  stop(): void {
    this.#reader?.stop();
  }

  #add(usage: Usage | undefined): void {
    this.#since.add(usage, this.#model);
  }
}

/** So long is read in one go: a key that is pressed meanwhile waits no longer. */
const SLICE_MS = 6;
const ENTRIES_AT_ONCE = 16;

interface CostReaderOptions {
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
