import { type AssistantMessage, callsIn, type ToolResultMessage } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { resultMessage } from "../tools/tool-registry.ts";
import type { AgentParts } from "./agent-parts.ts";
import { recordResult } from "./answer.ts";
import type { AnsweredCall } from "./durable-work.ts";

const NO_RESULT = "No result: the work stopped before this call ended.";

/** Records a result for each call that has none, because a request with an open call is refused. */
export async function endOpenCalls(parts: AgentParts): Promise<void> {
  for (const call of openCalls(parts.session))
    await recordResult(parts, await interruptedResult(parts, call));
}

/** Calls of the latest answer without a result: the program ended while the tools ran, or the leaf was moved. */
function openCalls(session: Session): AnsweredCall[] {
  const { items } = session.projection();
  const at = items.findLastIndex(({ message }) => message.role === "assistant");
  const answer = items[at]?.message as AssistantMessage | undefined;
  if (answer === undefined || answer.stopReason === "error" || answer.stopReason === "aborted") return [];
  const answered = new Set(
    items.slice(at + 1).flatMap(({ message }) => (message.role === "toolResult" ? [message.toolCallId] : [])),
  );
  const { entryId } = items[at]!;
  return callsIn(answer).flatMap((call) => (answered.has(call.id) ? [] : [{ call, entryId }]));
}

/** The result of a call that the end of the program interrupted. */
async function interruptedResult(
  { tools, durableWork, now }: AgentParts,
  open: AnsweredCall,
): Promise<ToolResultMessage> {
  const { call } = open;
  const tool = tools.get(call.name);
  const state = await tool?.interrupted?.(call).catch(() => undefined);
  const known = [await durableWork.interrupted(open, tool), state?.text];
  const text = [NO_RESULT, ...known.filter((each) => each !== undefined)].join(" ");
  const content = [{ type: "text" as const, text }];
  return resultMessage(call, { content, details: state?.details, isError: true }, now());
}
