import type { LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle, PayloadOf } from "@bonsai-agent/lifecycle";
import type { AgentHost } from "../call/agent-host.ts";
import type { EventJson } from "../call/event-json.ts";
import type { PiEvents } from "../call/pi-shapes.ts";
import type { PiClient } from "./runs.ts";

/** Events that pi has too, in the same shape. */
const shared: ReadonlySet<string> = new Set([
  "session",
  "agent_start",
  "turn_start",
  "turn_end",
  "message_start",
  "message_end",
  "tool_execution_start",
  "tool_execution_update",
  "tool_execution_end",
  "session_info_changed",
]);

interface PiEventOptions {
  client: PiClient;
  host: () => AgentHost | undefined;
  write: (event: EventJson) => Promise<void> | undefined;
}

/** Writes events in pi's shapes, in the place of ours, once a client of pi's has spoken. */
export class PiEventWriter {
  readonly #client: PiClient;
  readonly #host: PiEventOptions["host"];
  readonly #write: PiEventOptions["write"];
  #streamed: PiEvents | undefined;
  #queue = "";

  constructor({ client, host, write }: PiEventOptions) {
    this.#client = client;
    this.#host = host;
    this.#write = write;
    client.onAnswer = () => this.#noteQueue();
  }

  /** Streamed answers need more than their JSON says. */
  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    lifecycle.on("message_update", async (update) => {
      this.#client.isRetrying = false;
      if (this.#client.isSpeaking) await this.#update(update);
      return undefined;
    });
  }

  /** Takes one of our events. */
  async take(event: EventJson): Promise<void> {
    if (!this.#client.isSpeaking) return this.#write(event);
    await this.#noteQueue();
    for (const line of piEvents(event)) await this.#write(line);
    if (event.type !== "agent_end") return;
    this.#client.isRetrying = false;
    // Whoever waits for it sends the next prompt at once.
    void this.#host()
      ?.agent.idle()
      .then(() => this.#write({ type: "agent_settled" }));
  }

  async #update({
    assistantMessageEvent,
    message,
  }: PayloadOf<LifecycleEvents["message_update"]>): Promise<void> {
    const { PiEvents: Events } = await import("../call/pi-shapes.ts");
    if (this.#streamed === undefined || assistantMessageEvent.type === "start") this.#streamed = new Events();
    const usage = message.role === "assistant" ? message.usage : undefined;
    for (const { partial, ...event } of this.#streamed.of(assistantMessageEvent) as Update[]) {
      if (["start", "done", "error"].includes(event.type)) continue;
      const call = event.type === "toolcall_start" ? partial?.content[event.contentIndex!] : undefined;
      const named = call?.type === "toolCall" ? { id: call.id, toolName: call.name } : {};
      await this.#write({ type: "message_update", usage, assistantMessageEvent: { ...event, ...named } });
    }
  }

  /** Tells what waits, where that has changed. */
  async #noteQueue(): Promise<void> {
    const state = this.#host()?.agent.state;
    const of = (texts: readonly { text: string }[] = []) => texts.map(({ text }) => text);
    const queue = { steering: of(state?.steering), followUp: of(state?.followUps) };
    const told = JSON.stringify(queue);
    if (told === this.#queue || (this.#queue === "" && queue.steering.length + queue.followUp.length === 0))
      return;
    this.#queue = told;
    await this.#write({ type: "queue_update", ...queue });
  }
}

type Update = { type: string; contentIndex?: number; partial?: { content: readonly ToolBlock[] } };
type ToolBlock = { type: string; id?: string; name?: string };

/** Ours as pi's: none where pi has no such event. */
function piEvents(event: EventJson): EventJson[] {
  switch (event.type) {
    case "agent_end":
      return [{ type: "agent_end", messages: event.messages, willRetry: false }];
    case "auto_compaction_start":
      return [{ type: "compaction_start", reason: event.reason }];
    case "auto_compaction_end": {
      const { type: _, ...fields } = event;
      return [{ type: "compaction_end", ...fields }];
    }
    case "thinking_level_select":
      return [{ type: "thinking_level_changed", level: event.level }];
    default:
      return shared.has(event.type) ? [event] : [];
  }
}
