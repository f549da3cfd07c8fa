import type * as acp from "@agentclientprotocol/sdk";
import {
  type Message,
  messageText,
  readableSummary,
  saidText,
  type UserContent,
} from "@bonsai-agent/messages";
import type { Entry, Session } from "@bonsai-agent/session";
import { UndoneCompactions } from "@bonsai-agent/session/host";
import type { AcpUpdates } from "./acp-updates.ts";
import type { ClientLink } from "./client-link.ts";
import { planOf, toolCall, toolResult } from "./tool-content.ts";

interface Replay {
  session: Session;
  link: ClientLink;
  updates: AcpUpdates;
  cwd: string;
}

/** Sends the whole active branch as updates, with what compactions removed from the model's view. */
export async function replayBranch(replay: Replay): Promise<void> {
  const { session, link, updates } = replay;
  const path = session.path();
  const undone = new UndoneCompactions();
  for (const entry of path.toReversed()) undone.addOlder(entry);
  const calls = new Map<string, acp.ToolCall>();
  let plan: acp.PlanEntry[] | undefined;
  for (const entry of path) {
    if (entry.type === "compaction") {
      if (!undone.has(entry.id)) updates.replayCompaction(entry);
      continue;
    }
    for (const update of entryUpdates(entry, calls, replay)) await link.send(update);
    if (entry.type !== "message" || entry.message?.role !== "toolResult") continue;
    calls.delete(entry.message.toolCallId);
    plan = planOf(entry.message.details) ?? plan;
  }
  // The program ended before these calls did.
  for (const { toolCallId } of calls.values())
    await link.send({ sessionUpdate: "tool_call_update", toolCallId, status: "failed" });
  if (plan !== undefined) await link.send({ sessionUpdate: "plan", entries: plan });
}

type Calls = Map<string, acp.ToolCall>;

function* entryUpdates(entry: Entry, calls: Calls, replay: Replay): Generator<acp.SessionUpdate> {
  if (entry.type === "message" && entry.message != null)
    yield* messageUpdates(entry.message, entry.id, calls, replay);
  if (entry.type === "custom_message" && entry.display !== false)
    yield* chunks("agent_message_chunk", entry.id, entry.content);
  if (entry.type === "branch_summary")
    yield* chunks("agent_message_chunk", entry.id, readableSummary(entry.summary));
}

function* messageUpdates(
  message: Message,
  id: string,
  calls: Calls,
  { cwd, updates }: Replay,
): Generator<acp.SessionUpdate> {
  switch (message.role) {
    case "user": {
      const images =
        typeof message.content === "string" ? [] : message.content.filter(({ type }) => type === "image");
      yield* chunks("user_message_chunk", id, [{ type: "text", text: saidText(message) }, ...images]);
      break;
    }
    case "assistant":
      for (const block of message.content) {
        if (block.type === "text") yield* chunks("agent_message_chunk", id, block.text);
        if (block.type === "thinking") yield* chunks("agent_thought_chunk", id, block.thinking);
        if (block.type !== "toolCall") continue;
        const call = toolCall(updates.callIds.next(block.id), {
          name: block.name,
          args: block.arguments,
          cwd,
        });
        calls.set(block.id, call);
        yield { sessionUpdate: "tool_call", ...call };
      }
      break;
    case "toolResult": {
      const { toolCallId, content, details, isError } = message;
      const call = calls.get(toolCallId);
      const ended = { content, details, isError, call, cwd };
      yield { sessionUpdate: "tool_call_update", ...toolResult(call?.toolCallId ?? toolCallId, ended) };
      break;
    }
    case "bashExecution": {
      const call = toolCall(id, { name: "bash", args: { command: message.command }, cwd });
      const content = [{ type: "text" as const, text: message.output }];
      yield {
        sessionUpdate: "tool_call",
        ...call,
        ...toolResult(id, { content, call, cwd }),
      } as acp.SessionUpdate;
      break;
    }
    default:
      yield* chunks("agent_message_chunk", id, messageText(message));
  }
}

function* chunks(
  sessionUpdate: "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk",
  messageId: string,
  content: string | readonly UserContent[],
): Generator<acp.SessionUpdate> {
  const blocks = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  for (const block of blocks)
    if (block.type !== "text" || block.text !== "") yield { sessionUpdate, messageId, content: block };
}
