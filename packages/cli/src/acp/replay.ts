import { type Message, messageText, readableSummary, saidText } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { UndoneCompactions } from "@bonsai-agent/session/host";
import type { AcpUpdates } from "./acp-updates.ts";
import type { ClientLink } from "./client-link.ts";

interface Replay {
  link: ClientLink;
  updates: AcpUpdates;
}

/** Sends the whole active branch as updates, with the entries that compactions removed from the model's view. */
export async function replayBranch(session: Session, replay: Replay): Promise<void> {
  const { link, updates } = replay;
  const path = session.path();
  const undone = new UndoneCompactions();
  for (const entry of path.toReversed()) undone.addOlder(entry);
  for (const entry of path) {
    if (entry.type === "compaction" && !undone.has(entry.id)) await updates.replayCompaction(entry);
    if (entry.type === "branch_summary")
      await link.whole("agent_message_chunk", entry.id, readableSummary(entry.summary));
    if (entry.type === "custom_message" && entry.display !== false)
      await link.whole("agent_message_chunk", entry.id, entry.content);
    if (entry.type === "message" && entry.message != null)
      await replayMessage(entry.message, entry.id, replay);
  }
  await updates.failOpenCalls();
}

async function replayMessage(message: Message, id: string, { link, updates }: Replay): Promise<void> {
  switch (message.role) {
    case "user": {
      const { content } = message;
      const images = typeof content === "string" ? [] : content.filter(({ type }) => type === "image");
      return link.whole("user_message_chunk", id, [{ type: "text", text: saidText(message) }, ...images]);
    }
    case "assistant":
      for (const block of message.content) {
        if (block.type === "text") await link.whole("agent_message_chunk", id, block.text);
        if (block.type === "thinking") await link.whole("agent_thought_chunk", id, block.thinking);
        if (block.type === "toolCall") await updates.startCall(block.id, block.name, block.arguments);
      }
      return;
    case "toolResult":
      return updates.endCall(message.toolCallId, message);
    case "bashExecution":
      await updates.startCall(id, "bash", { command: message.command });
      return updates.endCall(id, { content: [{ type: "text", text: message.output }] });
    default:
      return link.whole("agent_message_chunk", id, messageText(message));
  }
}
