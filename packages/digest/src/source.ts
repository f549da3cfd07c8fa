import type { Message } from "@bonsai-agent/messages";

/** A message, and the entry that it comes from where there is one. */
export interface SourceMessage {
  message: Message;
  entryId?: string | undefined;
}
