import type { LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { Usage } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { FactCounter } from "../../session-facts.ts";

/** What a session has cost so far, over all its branches: what it brought along, and what is told since. */
export class SessionCost {
  #beforeUsd = 0;
  #sinceUsd = 0;

  get usd(): number {
    return this.#beforeUsd + this.#sinceUsd;
  }

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    lifecycle.on("session_start", ({ reason }) => {
      if (reason === "reload") return;
      this.#beforeUsd = 0;
      this.#sinceUsd = 0;
    });
    lifecycle.on("message_stored", ({ message }) => {
      if (message.role === "assistant" || message.role === "toolResult") this.#add(message.usage);
    });
    lifecycle.on("session_compact", ({ compactionEntry }) => this.#add(compactionEntry.usage));
    lifecycle.on("session_tree", ({ summaryEntry }) => this.#add(summaryEntry?.usage));
  }

  /** Reads the whole session: to be called once for each, after `session_start`. */
  bring(session: Pick<Session, "entries">): void {
    const counter = new FactCounter();
    for (const entry of session.entries()) counter.add(entry);
    this.#beforeUsd = counter.facts().usage.cost.total;
    this.#sinceUsd = 0;
  }

  #add(usage: Usage | undefined): void {
    const costUsd = usage?.cost?.total;
    if (Number.isFinite(costUsd)) this.#sinceUsd += costUsd!;
  }
}
