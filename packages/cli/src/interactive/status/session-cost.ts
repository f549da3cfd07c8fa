import type { LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { addUsage, CostSum, emptyUsage, type KnownCost, type Usage } from "@bonsai-agent/messages";
import type { Entry, Session } from "@bonsai-agent/session";
import { FactCounter, type IsFree } from "../../views/session-facts.ts";
import { betweenKeys } from "../between-keys.ts";

/** What a session has cost so far, over all its branches: what it brought along, and what came since. */
export class SessionCost {
  #before = new CostSum();
  #since = new CostSum();
  #usageBefore = emptyUsage();
  #usageSince = emptyUsage();
  #model: string | undefined;
  #stopReading = () => {};

  cost(isFree: IsFree): KnownCost {
    const sum = new CostSum();
    sum.addSum(this.#before);
    sum.addSum(this.#since);
    return sum.cost(isFree);
  }

  /** Of all requests. */
  get usage(): Usage {
    return addUsage(this.#usageBefore, this.#usageSince);
  }

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    lifecycle.on("session_start", ({ reason }) => {
      if (reason === "reload") return;
      this.stop();
      this.#before = new CostSum();
      this.#since = new CostSum();
      this.#usageBefore = emptyUsage();
      this.#usageSince = emptyUsage();
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
    // What comes from now on is not read.
    this.#before.addSum(this.#since);
    this.#since = new CostSum();
    this.#usageBefore = this.usage;
    this.#usageSince = emptyUsage();
    this.#stopReading = readCost(session, ({ cost, usage }) => {
      this.#before = cost;
      this.#usageBefore = usage;
      onRead();
    });
  }

  /** Reads no further. */
  stop(): void {
    this.#stopReading();
  }

  #add(usage: Usage | undefined): void {
    this.#since.add(usage, this.#model);
    if (usage !== undefined) this.#usageSince = addUsage(this.#usageSince, usage);
  }
}

/**
 * Adds up what a session has cost over all its branches, between the keys. A file that is gone is an error for whoever
 * writes to it; here, the cost stays what it was.
 * @param onDone called once, with what the session has cost so far
 * @returns ends the reading
 */
export function readCost(
  session: Pick<Session, "index" | "entryAt">,
  onDone: (read: { cost: CostSum; usage: Usage }) => void,
): () => void {
  const index = session.index();
  const { count } = index;
  function* steps(): Generator<void> {
    const counter = new FactCounter();
    try {
      for (let number = 0; number < count; number += 1) {
        yield;
        if (index.isDamaged(number) || !costing.has(index.type(number))) continue;
        // By its number: for an id, the session would look each time whether the file has grown.
        const entry = session.entryAt(number);
        if (entry !== undefined) counter.add(entry);
      }
    } catch {
      return;
    }
    const { cost, usage } = counter.facts();
    onDone({ cost, usage });
  }
  return betweenKeys(steps());
}

/** The entries that can hold a cost. */
const costing = new Set<string>([
  "message",
  "compaction",
  "branch_summary",
  "usage",
] satisfies Entry["type"][]);
