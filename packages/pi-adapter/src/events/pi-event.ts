import type { LifecycleEvents } from "@bonsai-agent/agent";
import type { CompactionPreparation } from "@bonsai-agent/compaction";
import type { PayloadOf } from "@bonsai-agent/lifecycle";
import { deepCopy, toolCalls } from "@bonsai-agent/messages";
import { piModel } from "../models/pi-model.ts";
import { PiEvents } from "../models/to-pi-events.ts";

type Payload<Name extends keyof LifecycleEvents> = PayloadOf<LifecycleEvents[Name]>;

/** Files of a compaction in pi's shape. */
export interface PiFileOperations {
  read: Set<string>;
  written: Set<string>;
  edited: Set<string>;
}

/** Payloads as pi has them, for the events where ours differ. */
export const piPayloads = {
  /** Handlers of pi may change the messages in place: what the session holds must not change with them. */
  context: (event: Payload<"context">) => ({ ...event, messages: deepCopy(event.messages) }),
  session_before_compact: compactEvent,
  session_compact_failed: (event: Payload<"session_compact_failed">) => ({
    errorMessage: event.error?.message,
    ...event,
  }),
  model_select: (event: Payload<"model_select">) => ({
    ...event,
    model: piModel(event.model),
    previousModel: event.previousModel === undefined ? undefined : piModel(event.previousModel),
  }),
};

/** Field by field: the path is not read for a handler that does not ask for it. */
function compactEvent(event: Payload<"session_before_compact">): object {
  const { type, reason, willRetry, signal, customInstructions } = event;
  return {
    ...{ type, reason, willRetry, signal },
    ...("current" in event ? { current: event.current } : {}),
    ...(customInstructions === undefined ? {} : { customInstructions }),
    preparation: piPreparation(event.preparation),
    get branchEntries() {
      return event.branchEntries;
    },
  };
}

const originals = new WeakMap<object, CompactionPreparation>();

function piPreparation(preparation: CompactionPreparation): object {
  const made = { ...preparation, fileOps: piFileOperations(preparation) };
  originals.set(made, preparation);
  return made;
}

/** Bonsai's preparation behind one that a handler of pi got. */
export function originalPreparation(preparation: CompactionPreparation): CompactionPreparation {
  return originals.get(preparation) ?? preparation;
}

/** Modified files are told apart by the tool that wrote them; one that both touched counts as edited. */
function piFileOperations({
  fileOps,
  messagesToSummarize,
  turnPrefixMessages,
}: CompactionPreparation): PiFileOperations {
  const calls = [...messagesToSummarize, ...turnPrefixMessages].flatMap(toolCalls);
  const pathsOf = (tool: string) =>
    new Set(calls.filter(({ name }) => name === tool).map((call) => call.arguments.path));
  const [writes, edits] = [pathsOf("write"), pathsOf("edit")];
  const isWritten = (path: string) => writes.has(path) && !edits.has(path);
  return {
    read: new Set(fileOps.read),
    written: new Set(fileOps.modified.filter(isWritten)),
    edited: new Set(fileOps.modified.filter((path) => !isWritten(path))),
  };
}

/** In pi, `message_start` and `message_end` tell of these. */
const untold: readonly string[] = ["start", "done", "error"];

/**
 * The updates of streamed answers in pi's shape. One of ours can be several of pi's, of which the last of the kind that
 * carries text is told with the first ones before it.
 */
export function updatesForPi(): (event: Payload<"message_update">) => object[] {
  let events = new PiEvents();
  return (event) => {
    if (event.assistantMessageEvent.type === "start") events = new PiEvents();
    return events
      .of(event.assistantMessageEvent)
      .filter(({ type }) => !untold.includes(type))
      .map((assistantMessageEvent) => ({ ...event, assistantMessageEvent }));
  };
}
