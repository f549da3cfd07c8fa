import {
  type Message,
  messageText,
  readableSummary,
  saidText,
  type UserContent,
} from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { UndoneCompactions } from "@bonsai-agent/session/host";
import type { AcpUpdates } from "./acp-updates.ts";
import type { ClientLink } from "./client-link.ts";

type ChunkKind = "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk";

/** Sends the whole active branch as updates, with what compactions removed from the model's view. */
export async function replayBranch(session: Session, link: ClientLink, updates: AcpUpdates): Promise<void> {
  const path = session.path();
  const undone = new UndoneCompactions();
  for (const entry of path.toReversed()) undone.addOlder(entry);
  for (const entry of path) {
    const chunk = async (sessionUpdate: ChunkKind, content: string | readonly UserContent[]) => {
      const blocks = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
      for (const block of blocks)
        if (block.type !== "text" || block.text !== "")
          await link.send({ sessionUpdate, messageId: entry.id, content: block });
    };
    if (entry.type === "compaction" && !undone.has(entry.id)) await updates.replayCompaction(entry);
    if (entry.type === "branch_summary") await chunk("agent_message_chunk", readableSummary(entry.summary));
    if (entry.type === "custom_message" && entry.display !== false)
      await chunk("agent_message_chunk", entry.content);
    if (entry.type === "message" && entry.message != null)
      await replayMessage(entry.message, entry.id, updates, chunk);
  }
  await updates.failOpenCalls();
}

async function replayMessage(
  message: Message,
  id: string,
  updates: AcpUpdates,
  chunk: (kind: ChunkKind, content: string | readonly UserContent[]) => Promise<void>,
): Promise<void> {
  switch (message.role) {
    case "user": {
      const { content } = message;
      const images = typeof content === "string" ? [] : content.filter(({ type }) => type === "image");
      return chunk("user_message_chunk", [{ type: "text", text: saidText(message) }, ...images]);
    }
    case "assistant":
      for (const block of message.content) {
        if (block.type === "text") await chunk("agent_message_chunk", block.text);
        if (block.type === "thinking") await chunk("agent_thought_chunk", block.thinking);
        if (block.type === "toolCall") await updates.startCall(block.id, block.name, block.arguments);
      }
      return;
    case "toolResult":
      return updates.endCall(message.toolCallId, message);
    case "bashExecution":
      await updates.startCall(id, "bash", { command: message.command });
      return updates.endCall(id, { content: [{ type: "text", text: message.output }] });
    default:
      return chunk("agent_message_chunk", messageText(message));
  }
}
