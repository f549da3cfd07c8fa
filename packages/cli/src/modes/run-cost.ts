import type { LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { addUsage, CostSum, emptyUsage, type Usage } from "@bonsai-agent/messages";

/** Adds up what one run used: answers, tools that ask models, summaries. */
export class RunCost {
  usage: Usage = emptyUsage();
  readonly cost = new CostSum();

  #model: string | undefined;

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    lifecycle.on("message_end", ({ message }) => {
      if (message.role === "assistant") this.#model = `${message.provider}/${message.model}`;
      if (message.role === "assistant" || message.role === "toolResult") this.#add(message.usage);
      return undefined;
    });
    lifecycle.on("session_compact", ({ compactionEntry }) => this.#add(compactionEntry.usage));
  }

  #add(usage: Usage | undefined): void {
    if (usage === undefined) return;
    this.usage = addUsage(this.usage, usage);
    this.cost.add(usage, this.#model);
  }
}
