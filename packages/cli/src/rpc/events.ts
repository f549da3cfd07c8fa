import type { LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle, PayloadOf } from "@bonsai-agent/lifecycle";
import { PiEvents } from "@bonsai-agent/pi-adapter";
import type { AgentHost } from "../call/agent-host.ts";
import { type EventJson, writeEvents } from "../call/event-json.ts";

/**
 * Writes the lifecycle events. pi's clients also need its events for the queue and the end of the work, its names for
 * three events, and its shape of `message_update`.
 */
export function rpcEvents(
  host: () => AgentHost | undefined,
  write: (event: EventJson) => Promise<void> | undefined,
) {
  let streamed = new PiEvents();
  let written = JSON.stringify({ steering: [], followUp: [] });
  /** Writes the queue if it has changed. */
  const writeQueue = async () => {
    const state = host()?.agent.state;
    const of = (inputs: readonly { text: string }[] = []) => inputs.map(({ text }) => text);
    const queue = { steering: of(state?.steering), followUp: of(state?.followUps) };
    const json = JSON.stringify(queue);
    if (json === written) return;
    written = json;
    await write({ type: "queue_update", ...queue });
  };
  const take = async (event: EventJson) => {
    await writeQueue();
    switch (event.type) {
      case "message_update":
        return;
      case "session_start": {
        const header = host()?.agent.session.header;
        if (header !== undefined) await write({ ...header });
        break;
      }
      case "auto_compaction_start":
        await write({ type: "compaction_start", reason: event.reason });
        break;
      case "auto_compaction_end":
        await write({ ...event, type: "compaction_end" });
        break;
      case "thinking_level_select":
        await write({ type: "thinking_level_changed", level: event.level });
        break;
      case "agent_end":
        await write({ ...event, willRetry: false });
        // A client that waits for it sends the next prompt at once.
        void host()
          ?.agent.idle()
          .then(() => write({ type: "agent_settled" }));
        return;
    }
    await write(event);
  };
  const update = async ({ assistantMessageEvent, message }: PayloadOf<LifecycleEvents["message_update"]>) => {
    if (assistantMessageEvent.type === "start") streamed = new PiEvents();
    const usage = message.role === "assistant" ? message.usage : undefined;
    for (const each of streamed.updates(assistantMessageEvent)) {
      const { partial, ...event } = each as PiUpdate;
      const call = event.type === "toolcall_start" ? partial.content[event.contentIndex] : undefined;
      const named = call?.type === "toolCall" ? { id: call.id, toolName: call.name } : {};
      await write({ type: "message_update", usage, assistantMessageEvent: { ...event, ...named } });
    }
  };
  return {
    writeQueue,
    listen(lifecycle: Lifecycle<LifecycleEvents>) {
      lifecycle.on("message_update", async (event) => {
        await update(event);
        return undefined;
      });
      writeEvents(lifecycle, take);
    },
  };
}

interface PiUpdate {
  type: string;
  contentIndex: number;
  partial: { content: readonly { type: string; id?: string; name?: string }[] };
}
