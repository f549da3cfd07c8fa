import type { LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { CostSum, type KnownCost, type Usage } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import type { IsFree } from "../../free-models.ts";
import { CostReader } from "./cost-reader.ts";

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
