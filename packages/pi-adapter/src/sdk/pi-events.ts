import type { LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { PiEvents } from "../models/streams.ts";
import { withBlocks } from "../models/transcript.ts";

/** An event of an agent in pi's shape. */
export interface PiEvent {
  type: string;
  [field: string]: unknown;
}

const same = [
  ...(["agent_start", "turn_start", "turn_end", "session_info_changed"] as const),
  ...(["tool_execution_start", "tool_execution_update", "tool_execution_end"] as const),
];

/** Sends the events of an agent in pi's shape. The agent waits for `send`. */
export function sendPiEvents(
  lifecycle: Lifecycle<LifecycleEvents>,
  send: (event: PiEvent) => Promise<void> | void,
  onSettled: () => void = () => {},
): void {
  for (const name of same) lifecycle.on(name, (event) => send({ ...(event as object), type: name }));
  for (const name of ["message_start", "message_end"] as const)
    lifecycle.on(name, async (event: { type: string; message: Parameters<typeof withBlocks>[0] }) => {
      await send({ ...event, message: withBlocks(event.message) });
      return undefined;
    });
  const updates = new PiEvents();
  lifecycle.on("message_update", async ({ assistantMessageEvent, message }) => {
    for (const each of updates.updates(assistantMessageEvent))
      await send({ type: "message_update", message, assistantMessageEvent: each });
  });
  lifecycle.on("agent_end", async ({ messages }) => {
    await send({ type: "agent_end", messages: messages.map(withBlocks), willRetry: false });
    onSettled();
  });
  lifecycle.on("auto_compaction_start", ({ reason }) => send({ type: "compaction_start", reason }));
  lifecycle.on("auto_compaction_end", (event) => send({ ...event, type: "compaction_end" }));
  lifecycle.on("thinking_level_select", ({ level }) => send({ type: "thinking_level_changed", level }));
}
