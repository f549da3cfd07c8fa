import type { UserContent } from "@bonsai-agent/messages";

/** A message that an extension puts into the conversation: stored, and seen by the model as the user's. */
export interface ExtensionMessage<Details = unknown> {
  customType: string;
  content: string | UserContent[];
  /** False: front ends do not show it. */
  display: boolean;
  /** For the extension; never sent. */
  details?: Details | undefined;
}
