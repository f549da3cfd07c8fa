import type { Message } from "@bonsai-agent/messages";

/** One item of `bonsai context --json`. */
export interface ContextItem {
  entryId: string;
  role: string;
  /** Estimated. */
  tokens: number;
  message: Message;
}
