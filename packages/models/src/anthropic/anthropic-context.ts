import type {
  ContentBlockParam,
  RedactedThinkingBlockParam,
  ThinkingBlockParam,
  ToolUseBlockParam,
} from "@anthropic-ai/sdk/resources/messages";
import {
  type AssistantMessage,
  bashExecutionText,
  contentBlocks,
  type Message,
  type ThinkingContent,
  toolCalls,
} from "@bonsai-agent/messages";
import type { CatalogueModel } from "../catalogue-model.ts";
import { isOwnAnswer } from "../own-answer.ts";
import { wireToolName } from "../wire-tool-name.ts";
import { anthropicCallId } from "./anthropic-call-id.ts";
import { resultBlocks, textBlocks, type UserBlock, userBlocks } from "./anthropic-content.ts";

/** A message as it goes over the wire; the content is always a list, so that a breakpoint can be set on it. */
export type WireMessage =
  | { role: "user"; content: UserBlock[] }
  | { role: "assistant"; content: AssistantBlock[] };

type AssistantBlock = Extract<
  ContentBlockParam,
  { type: "text" | "thinking" | "redacted_thinking" | "tool_use" }
>;

/**
 * The context in the terms of the Messages API: roles alternate, results stand before everything else in their
 * message, and what the API would refuse as empty is left out. Pure, and stable: the blocks of a longer context begin
 * with those of a shorter one.
 */
export function anthropicContext(messages: readonly Message[], model: CatalogueModel): WireMessage[] {
  const wire: WireMessage[] = [];
  for (const message of messages) append(wire, wireMessage(message, model));
  return wire.map((message) => (message.role === "user" ? resultsFirst(message) : message));
}

function append(wire: WireMessage[], message: WireMessage | undefined): void {
  if (message === undefined || message.content.length === 0) return;
  const last = wire.at(-1);
  if (last?.role === "user" && message.role === "user") last.content.push(...message.content);
  else if (last?.role === "assistant" && message.role === "assistant") last.content.push(...message.content);
  else wire.push(message);
}

function wireMessage(message: Message, model: CatalogueModel): WireMessage | undefined {
  switch (message.role) {
    case "user":
    case "custom":
      return { role: "user", content: userBlocks(message.content) };
    case "assistant":
      return { role: "assistant", content: assistantBlocks(message, model) };
    case "toolResult":
      return { role: "user", content: resultBlocks(message) };
    case "bashExecution":
      return message.excludeFromContext
        ? undefined
        : { role: "user", content: textBlocks(bashExecutionText(message)) };
    case "branchSummary":
    case "compactionSummary":
      return { role: "user", content: textBlocks(message.summary) };
    case "system":
      return undefined;
  }
}

function assistantBlocks(message: AssistantMessage, model: CatalogueModel): AssistantBlock[] {
  const calls = toolCalls(message);
  let nextCall = 0;
  return contentBlocks(message.content).flatMap((block): AssistantBlock[] => {
    switch (block.type) {
      case "text":
        return textBlocks(block.text);
      case "thinking":
        return isOwnAnswer(message, model) ? thinkingBlocks(block as unknown as ThinkingContent) : [];
      case "toolCall":
        return toolUseBlocks(calls[nextCall++]);
      default:
        return [];
    }
  });
}

function thinkingBlocks(block: ThinkingContent): (ThinkingBlockParam | RedactedThinkingBlockParam)[] {
  const { thinking = "", thinkingSignature: signature, redacted } = block;
  if (!signature) return [];
  return redacted
    ? [{ type: "redacted_thinking", data: signature }]
    : [{ type: "thinking", thinking, signature }];
}

function toolUseBlocks(call: ReturnType<typeof toolCalls>[number] | undefined): ToolUseBlockParam[] {
  if (call === undefined) return [];
  return [
    { type: "tool_use", id: anthropicCallId(call.id), name: wireToolName(call.name), input: call.arguments },
  ];
}

/** The API wants the results of a batch of calls before any other word of the user. */
function resultsFirst({ role, content }: Extract<WireMessage, { role: "user" }>): WireMessage {
  const results = content.filter((block) => block.type === "tool_result");
  return { role, content: [...results, ...content.filter((block) => block.type !== "tool_result")] };
}
