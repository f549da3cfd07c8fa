import { contentBlocks } from "@bonsai-agent/messages";
import { knownModels } from "../ai/known-models.ts";
import { wireApi, wireStream } from "../ai/wire-apis.ts";
import {
  collapsed,
  currentSystemPrompt,
  currentTools,
  initialSystemMessage,
  type TranscriptMessage,
  withoutSystem,
} from "../models/transcript.ts";

export { Type } from "typebox";
export { isContextOverflow } from "../ai/context-overflow.ts";
export { clampThinkingLevel, getSupportedThinkingLevels, modelsAreEqual } from "../ai/known-models.ts";
export { StringEnum } from "../ai/string-enum.ts";
export { calculateCost } from "../ai/usage-cost.ts";
export { uuidv7 } from "../ai/uuidv7.ts";
export { validateToolArguments, validateToolCall } from "../ai/validate-tool-call.ts";
export { complete, complete as completeSimple, stream, stream as streamSimple } from "../models/ask.ts";
export {
  AssistantMessageEventStream,
  createAssistantMessageEventStream,
} from "../models/assistant-stream.ts";
export { EventStream } from "../models/event-stream.ts";
export {
  collapsed as collapseSystemMessages,
  currentSystemPrompt as getCurrentSystemPrompt,
  currentTools as getCurrentTools,
  initialSystemMessage as createInitialSystemMessage,
};

// Loaded with the module, for pi's functions answer at once.
export const { getModel, getModels, getProviders, getEnvApiKey } = await knownModels();

export const anthropicMessagesApi = wireApi("anthropic-messages");
export const openAICompletionsApi = wireApi("openai-chat");
export const openAIResponsesApi = wireApi("openai-responses");
export const streamAnthropic = wireStream("anthropic-messages");
export const streamSimpleAnthropic = streamAnthropic;
export const streamOpenAICompletions = wireStream("openai-chat");
export const streamSimpleOpenAICompletions = streamOpenAICompletions;
export const streamOpenAIResponses = wireStream("openai-responses");
export const streamSimpleOpenAIResponses = streamOpenAIResponses;

/** The texts of a content, joined. */
export function contentText(content: unknown, separator = "\n"): string {
  return contentBlocks(content)
    .flatMap(({ type, text }) => (type === "text" ? [String(text)] : []))
    .join(separator);
}

export function getInitialSystemMessage(
  messages: readonly TranscriptMessage[],
): TranscriptMessage | undefined {
  return messages[0]?.role === "system" ? messages[0] : undefined;
}

export function withoutInitialSystemMessage(messages: readonly TranscriptMessage[]): TranscriptMessage[] {
  return messages[0]?.role === "system" ? messages.slice(1) : [...messages];
}

/** The prompt and the tools in a leading system message, as pi's providers read them. */
export function normalizeContext(context: {
  systemPrompt?: string;
  messages: readonly TranscriptMessage[];
  tools?: Parameters<typeof initialSystemMessage>[1];
}): { messages: TranscriptMessage[] } {
  const head = initialSystemMessage(context.systemPrompt, context.tools);
  return {
    messages: head === undefined ? [...context.messages] : [head, ...withoutSystem(context.messages)],
  };
}
