import type { LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { addUsage, CostSum, emptyUsage, type KnownCost, type Usage } from "@bonsai-agent/messages";
import type { Entry, Session } from "@bonsai-agent/session";
import { FactCounter, type IsFree } from "../../views/session-facts.ts";
import { betweenKeys } from "../between-keys.ts";

/** The cost and tokens of requests. */
class Spent {
  readonly cost = new CostSum();
  usage = emptyUsage();

  add(usage: Usage | undefined, model: string | undefined): void {
    this.cost.add(usage, model);
    if (usage !== undefined) this.usage = addUsage(this.usage, usage);
  }

  addAll({ cost, usage }: Pick<Spent, "cost" | "usage">): this {
    this.cost.addSum(cost);
    this.usage = addUsage(this.usage, usage);
    return this;
  }
}

/** The cost of a session over all its branches: the stored part and the part since. */
export class SessionCost {
  #before = new Spent();
  #since = new Spent();
  #model: string | undefined;
  #stopReading = () => {};

  cost(isFree: IsFree): KnownCost {
    return this.#all.cost.cost(isFree);
  }

  /** The tokens of all requests. */
  get usage(): Usage {
    return this.#all.usage;
  }

  get #all(): Spent {
    return new Spent().addAll(this.#before).addAll(this.#since);
  }

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    lifecycle.on("session_start", ({ reason }) => {
      if (reason === "reload") return;
      this.stop();
      this.#before = new Spent();
      this.#since = new Spent();
    });
    lifecycle.on("session_shutdown", () => this.stop());
    lifecycle.on("message_stored", ({ message }) => {
      if (message.role === "assistant") this.#model = `${message.provider}/${message.model}`;
      if (message.role === "assistant" || message.role === "toolResult") this.#add(message.usage);
    });
    lifecycle.on("session_compact", ({ compactionEntry }) => this.#add(compactionEntry.usage));
    lifecycle.on("session_tree", ({ summaryEntry }) => this.#add(summaryEntry?.usage));
  }

  /** Reads the whole session; to be called once after each `session_start`. @param onRead called at the end */
  bring(session: Pick<Session, "index" | "entryAt">, onRead: () => void): void {
    this.stop();
    // Later entries are not read.
    this.#before = this.#all;
    this.#since = new Spent();
    this.#stopReading = readCost(session, (read) => {
      this.#before = new Spent().addAll(read);
      onRead();
    });
  }

  /** Stops reading. */
  stop(): void {
    this.#stopReading();
  }

  #add(usage: Usage | undefined): void {
    this.#since.add(usage, this.#model);
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
