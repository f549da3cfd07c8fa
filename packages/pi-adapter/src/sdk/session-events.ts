import type { LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle, PayloadOf } from "@bonsai-agent/lifecycle";
import { withBlocks } from "../models/requests.ts";
import { PiEvents } from "../models/streams.ts";

/** An event of a session in pi's shape. */
export interface SessionEvent {
  type: string;
  [field: string]: unknown;
}

const same = [
  ...(["agent_start", "turn_start", "turn_end", "session_info_changed"] as const),
  ...(["tool_execution_start", "tool_execution_update", "tool_execution_end"] as const),
];

type Payload<Name extends keyof LifecycleEvents> = PayloadOf<LifecycleEvents[Name]>;

/** Sends the events of a session in pi's shape. */
export function sendPiEvents(
  lifecycle: Lifecycle<LifecycleEvents>,
  send: (event: SessionEvent) => void,
  onSettled: () => void,
): void {
  for (const name of same) lifecycle.on(name, (event) => send({ ...(event as object), type: name }));
  for (const name of ["message_start", "message_end"] as const)
    lifecycle.on(name, (event: Payload<typeof name>) => {
      send({ ...event, message: withBlocks(event.message) });
      return undefined;
    });
  let updates = new PiEvents();
  lifecycle.on("message_update", (event) => {
    const { assistantMessageEvent, message } = event as Payload<"message_update">;
    if (assistantMessageEvent.type === "start") updates = new PiEvents();
    for (const each of updates.of(assistantMessageEvent))
      if (!["start", "done", "error"].includes(each.type))
        send({ type: "message_update", message, assistantMessageEvent: each });
    return undefined;
  });
  lifecycle.on("agent_end", ({ messages }) => {
    send({ type: "agent_end", messages: messages.map(withBlocks), willRetry: false });
    onSettled();
  });
  lifecycle.on("auto_compaction_start", ({ reason }) => send({ type: "compaction_start", reason }));
  lifecycle.on("auto_compaction_end", (event) => send({ ...event, type: "compaction_end" }));
  lifecycle.on("thinking_level_select", ({ level }) => send({ type: "thinking_level_changed", level }));
}
