import { compactionSettings, serialise } from "@bonsai-agent/compaction";
import type { Message } from "@bonsai-agent/messages";

/**
 * Messages as one text, for a prompt: who said what, with calls, and results cut to head and tail. A summariser reads
 * it instead of continuing the conversation.
 */
export function serializeConversation(messages: readonly Message[]): string {
  return serialise(messages, compactionSettings({}).serialize).join("\n\n");
}
