import { compactionSettings, serialise } from "@bonsai-agent/compaction";
import type { Message } from "@bonsai-agent/messages";

/** Messages as one text for a summariser, each clipped as Bonsai's own summaries are. */
export function serializeConversation(messages: readonly Message[]): string {
  return serialise(messages, compactionSettings().serialize).join("\n\n");
}
