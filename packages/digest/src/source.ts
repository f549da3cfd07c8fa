import type { BashExecutionMessage, Message, UserMessage } from "@bonsai-agent/messages";

/** A message, and the entry that it comes from where there is one. */
export interface SourceMessage {
  message: Message;
  entryId?: string | undefined;
}

/** What a person wrote, or the command that a person ran. */
export type PersonMessage = UserMessage | BashExecutionMessage;

/** True for what a person said to the agent: it begins a turn. */
export function isSaid(message: Message): message is PersonMessage {
  return message?.role === "user" || (message?.role === "bashExecution" && !message.excludeFromContext);
}
