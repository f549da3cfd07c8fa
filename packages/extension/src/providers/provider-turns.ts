import {
  type AssistantContent,
  type AssistantMessage,
  callsIn,
  contentBlocks,
  type ImageContent,
  type Message,
  type TextContent,
  type ToolCall,
  type ToolResultMessage,
} from "@bonsai-agent/messages";
import { userContent } from "@bonsai-agent/messages/host";
import { isOwnAnswer, wireCallId, wireToolName } from "@bonsai-agent/models/host";
import type { AskedModel } from "../api/provider-options.ts";

/** A tool's result. */
export interface ResultPart {
  type: "result";
  /** The id of the call in the previous turn. */
  callId: string;
  toolName: string;
  /** Without empty texts; may be empty. */
  content: (TextContent | ImageContent)[];
  isError: boolean;
}

/** A message for a provider with alternating roles. Its content is never empty. */
export type ProviderTurn =
  | { role: "user"; content: (ResultPart | TextContent | ImageContent)[] }
  | { role: "assistant"; content: AssistantContent[] };

/**
 * Converts a context for most providers: roles alternate, results come first in their turn, and empty content is left
 * out. So are thinking and signatures of other models. Ids and tool names are valid for every provider. Pure and
 * stable: a longer context's turns begin with the shorter one's.
 */
export function providerTurns(messages: readonly Message[], model: AskedModel): ProviderTurn[] {
  const turns: ProviderTurn[] = [];
  for (const message of messages) append(turns, turnOf(message, model));
  return turns.map((turn) => (turn.role === "user" ? resultsFirst(turn) : turn));
}

function append(turns: ProviderTurn[], turn: ProviderTurn): void {
  if (turn.content.length === 0) return;
  const last = turns.at(-1);
  if (last?.role === "user" && turn.role === "user") last.content.push(...turn.content);
  else if (last?.role === "assistant" && turn.role === "assistant") last.content.push(...turn.content);
  else turns.push(turn);
}

function turnOf(message: Message, model: AskedModel): ProviderTurn {
  switch (message?.role) {
    case "assistant":
      return { role: "assistant", content: answerParts(message, model) };
    case "toolResult":
      return { role: "user", content: [resultPart(message)] };
    default:
      return { role: "user", content: soundParts(userContent(message)) };
  }
}

function resultPart({ toolCallId, toolName, content, isError }: ToolResultMessage): ResultPart {
  return {
    type: "result",
    callId: callId(toolCallId),
    toolName: wireToolName(toolName),
    content: soundParts(content),
    isError,
  };
}

function answerParts(message: AssistantMessage, model: AskedModel): AssistantContent[] {
  const isOwn = isOwnAnswer(message, model);
  const calls = callsIn(message);
  let nextCall = 0;
  return contentBlocks(message.content).flatMap((block): AssistantContent[] => {
    switch (block.type) {
      case "text":
        return textParts(block, isOwn);
      case "thinking":
        return isOwn ? [block as unknown as AssistantContent] : [];
      case "toolCall":
        return callParts(calls[nextCall++], isOwn);
      default:
        return [];
    }
  });
}

/** Blocks of old files can be damaged. */
function textParts({ text, textSignature }: Record<string, unknown>, isOwn: boolean): TextContent[] {
  const signature = isOwn && typeof textSignature === "string" ? { textSignature } : {};
  const said = typeof text === "string" ? text : "";
  return said.trim() === "" && Object.keys(signature).length === 0
    ? []
    : [{ type: "text", text: said, ...signature }];
}

function callParts(call: ToolCall | undefined, isOwn: boolean): ToolCall[] {
  if (call === undefined) return [];
  const { thoughtSignature, id, name, arguments: given } = call;
  const signature = isOwn && thoughtSignature !== undefined ? { thoughtSignature } : {};
  return [{ type: "toolCall", id: callId(id), name: wireToolName(name), arguments: given, ...signature }];
}

function soundParts(content: unknown): (TextContent | ImageContent)[] {
  return contentBlocks(content).flatMap((block): (TextContent | ImageContent)[] => {
    const { text, data, mimeType } = block as Record<string, unknown>;
    if (block.type === "text" && typeof text === "string" && text.trim() !== "")
      return [{ type: "text", text }];
    const isImage = block.type === "image" && typeof data === "string" && data !== "";
    return isImage && typeof mimeType === "string" ? [{ type: "image", data, mimeType }] : [];
  });
}

function resultsFirst({ content }: Extract<ProviderTurn, { role: "user" }>): ProviderTurn {
  const results = content.filter(({ type }) => type === "result");
  return { role: "user", content: [...results, ...content.filter(({ type }) => type !== "result")] };
}

/** A valid id for every provider. */
function callId(id: string): string {
  return wireCallId(id, { pattern: /^[A-Za-z0-9_-]{1,64}$/, madeChars: 29 });
}
