import type { LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { addUsage, emptyUsage, type Usage } from "@bonsai-agent/messages";

/** Adds up what one run used: answers, tools that ask models, summaries. */
export class RunCost {
  usage: Usage = emptyUsage();

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    lifecycle.on("message_end", ({ message }) => {
      if (message.role === "assistant" || message.role === "toolResult") this.#add(message.usage);
      return undefined;
    });
    lifecycle.on("session_compact", ({ compactionEntry }) => this.#add(compactionEntry.usage));
  }

  #add(usage: Usage | undefined): void {
    if (usage !== undefined) this.usage = addUsage(this.usage, usage);
  }
}
