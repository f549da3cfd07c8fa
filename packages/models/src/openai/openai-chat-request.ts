import type { ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";
import type { ProviderCall } from "../provider.ts";
import { chatMessages } from "./openai-chat-messages.ts";
import { effortOf } from "./openai-effort.ts";
import { type OpenAiServer, openAiServer } from "./openai-servers.ts";

/**
 * A request to Chat Completions. Its beginning is the same from turn to turn (system prompt, tools in the order given,
 * messages), so that servers find what they have cached.
 */
export function chatRequest(call: ProviderCall): ChatCompletionCreateParamsStreaming {
  const { model, systemPrompt, messages, maxOutputTokens, cacheKey } = call;
  const server = openAiServer(model);
  const role = model.reasoning ? server.systemRole : "system";
  return {
    model: model.id,
    messages: [
      ...(systemPrompt === "" ? [] : [{ role, content: systemPrompt }]),
      ...chatMessages(messages, { model, server }),
    ],
    ...toolFields(call, server),
    [server.maxTokensField]: maxOutputTokens,
    stream: true,
    ...(server.takesStreamOptions && { stream_options: { include_usage: true } }),
    ...(server.takesCacheKey && cacheKey !== undefined && { prompt_cache_key: cacheKey }),
    ...thinkingFields(call, server),
  };
}

function toolFields(
  { tools }: ProviderCall,
  server: OpenAiServer,
): Partial<ChatCompletionCreateParamsStreaming> {
  if (tools.length === 0) return {};
  return {
    tools: tools.map(({ name, description, parameters }) => ({
      type: "function",
      function: { name, description, parameters: { ...parameters } },
    })),
    ...(server.asksForParallelCalls && { parallel_tool_calls: true }),
  };
}

function thinkingFields({ model, thinking }: ProviderCall, server: OpenAiServer): Record<string, unknown> {
  if (!model.reasoning) return {};
  const isSwitched = server.thinkingSwitch?.test(model.id) ?? false;
  const switched = isSwitched ? { thinking: { type: thinking === "off" ? "disabled" : "enabled" } } : {};
  const effort = effortOf(server.efforts, model.id, thinking);
  if (effort === undefined || (thinking === "off" && isSwitched)) return switched;
  if (server.effortField === "reasoning") return thinking === "off" ? {} : { reasoning: { effort } };
  return { ...switched, reasoning_effort: effort };
}
