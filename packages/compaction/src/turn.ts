import type { Message } from "@bonsai-agent/messages";

/**
 * The single predicate for "starts a turn": a user message, or what stands in for one. A compaction's
 * summary does not: what follows it may be the rest of a turn that was split.
 */
export function startsTurn(message: Message): boolean {
  switch (message.role) {
    case "user":
    case "bashExecution":
    case "custom":
    case "branchSummary":
      return true;
    default:
      return false;
  }
}
