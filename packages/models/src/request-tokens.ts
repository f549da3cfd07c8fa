import { byScriptEstimator, jsonText, type Message } from "@bonsai-agent/messages";
import type { ToolDeclaration } from "./model-request.ts";

export interface RequestTokensOptions {
  systemPrompt: string;
  tools: readonly ToolDeclaration[];
  messages: readonly Message[];
}

/** Messages do not change and come again with every request of a session. */
const known = new WeakMap<Message, number>();

/** The estimated tokens of a whole request. */
export function requestTokens({ systemPrompt, tools, messages }: RequestTokensOptions): number {
  const fixed = byScriptEstimator.text(systemPrompt) + byScriptEstimator.text(jsonText(tools));
  return messages.reduce((sum, message) => sum + messageTokens(message), fixed);
}

function messageTokens(message: Message): number {
  const cached = known.get(message);
  if (cached !== undefined) return cached;
  const tokens = byScriptEstimator.message(message);
  known.set(message, tokens);
  return tokens;
}
