import type { LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { Usage } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { CostReader } from "./cost-reader.ts";

/** What a session has cost so far, over all its branches: what it brought along, and what is told since. */
export class SessionCost {
  #beforeUsd = 0;
  #sinceUsd = 0;
  #reader: CostReader | undefined;

  get usd(): number {
    return this.#beforeUsd + this.#sinceUsd;
  }

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    lifecycle.on("session_start", ({ reason }) => {
      if (reason === "reload") return;
      this.stop();
      this.#beforeUsd = 0;
      this.#sinceUsd = 0;
    });
    lifecycle.on("session_shutdown", () => this.stop());
    lifecycle.on("message_stored", ({ message }) => {
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
    this.#beforeUsd = this.usd;
    this.#sinceUsd = 0;
    this.#reader = new CostReader({
      session,
      onDone: (costUsd) => {
        this.#beforeUsd = costUsd;
        onRead();
      },
    });
  }

  /** Reads no further. */
  stop(): void {
    this.#reader?.stop();
  }

  #add(usage: Usage | undefined): void {
    const costUsd = usage?.cost?.total;
    if (Number.isFinite(costUsd)) this.#sinceUsd += costUsd!;
  }
}
