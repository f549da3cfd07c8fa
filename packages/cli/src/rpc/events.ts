import type { LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle, PayloadOf } from "@bonsai-agent/lifecycle";
import { PiEvents } from "@bonsai-agent/pi-adapter";
import type { AgentHost } from "../call/agent-host.ts";
import { type EventJson, writeEvents } from "../call/event-json.ts";

/**
 * Writes the lifecycle events. pi's clients also need its events for the queue and the end of the work, its names for
 * three events, and its shape of `message_update`.
 */
export class RpcEvents {
  readonly #host: () => AgentHost | undefined;
  readonly #write: (event: EventJson) => Promise<void> | undefined;
  #streamed = new PiEvents();
  #queue = JSON.stringify({ steering: [], followUp: [] });

  constructor(host: () => AgentHost | undefined, write: (event: EventJson) => Promise<void> | undefined) {
    this.#host = host;
    this.#write = write;
  }

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    lifecycle.on("message_update", async (update) => {
      await this.#update(update);
      return undefined;
    });
    writeEvents(lifecycle, (event) => this.#take(event));
  }

  /** Writes the queue if it has changed. */
  async writeQueue(): Promise<void> {
    const state = this.#host()?.agent.state;
    const of = (inputs: readonly { text: string }[] = []) => inputs.map(({ text }) => text);
    const queue = { steering: of(state?.steering), followUp: of(state?.followUps) };
    const json = JSON.stringify(queue);
    if (json === this.#queue) return;
    this.#queue = json;
    await this.#write({ type: "queue_update", ...queue });
  }

  async #take(event: EventJson): Promise<void> {
    await this.writeQueue();
    switch (event.type) {
      case "message_update":
        return;
      case "session_start": {
        const header = this.#host()?.agent.session.header;
        if (header !== undefined) await this.#write({ ...header });
        break;
      }
      case "auto_compaction_start":
        await this.#write({ type: "compaction_start", reason: event.reason });
        break;
      case "auto_compaction_end":
        await this.#write({ ...event, type: "compaction_end" });
        break;
      case "thinking_level_select":
        await this.#write({ type: "thinking_level_changed", level: event.level });
        break;
      case "agent_end":
        await this.#write({ ...event, willRetry: false });
        // A client that waits for it sends the next prompt at once.
        void this.#host()
          ?.agent.idle()
          .then(() => this.#write({ type: "agent_settled" }));
        return;
    }
    await this.#write(event);
  }

  async #update({
    assistantMessageEvent,
    message,
  }: PayloadOf<LifecycleEvents["message_update"]>): Promise<void> {
    if (assistantMessageEvent.type === "start") this.#streamed = new PiEvents();
    const usage = message.role === "assistant" ? message.usage : undefined;
    for (const update of this.#streamed.updates(assistantMessageEvent)) {
      const { partial, ...event } = update as PiUpdate;
      const call = event.type === "toolcall_start" ? partial.content[event.contentIndex] : undefined;
      const named = call?.type === "toolCall" ? { id: call.id, toolName: call.name } : {};
      await this.#write({ type: "message_update", usage, assistantMessageEvent: { ...event, ...named } });
    }
  }
}

interface PiUpdate {
  type: string;
  contentIndex: number;
  partial: { content: readonly { type: string; id?: string; name?: string }[] };
}
