import { type AssistantMessage, contentBlocks, inputTokens, type Usage } from "@bonsai-agent/messages";
import { classifyFailure, ProviderError } from "@bonsai-agent/models";
import { type TUnsafe, Type } from "typebox";
import { bonsaiModel, type GivenModel, piModel } from "../models/model.ts";
import {
  collapsed,
  currentSystemPrompt,
  currentTools,
  initialSystemMessage,
  type TranscriptMessage,
  withoutSystem,
} from "../models/requests.ts";
import { knownModels, wireApi, wireStream } from "./known-models.ts";

export { Type } from "typebox";
export { ToolCallArgumentsStream } from "../models/arguments-stream.ts";
export { complete, complete as completeSimple, stream, stream as streamSimple } from "../models/requests.ts";
export {
  AssistantMessageEventStream,
  createAssistantMessageEventStream,
  EventStream,
} from "../models/streams.ts";
export { validateToolArguments, validateToolCall } from "../models/tool-arguments.ts";
export { clampThinkingLevel, getSupportedThinkingLevels, modelsAreEqual } from "./known-models.ts";
export { parseJsonWithRepair, parseStreamingJson, repairJson } from "./partial-json.ts";
export { uuidv7 } from "./sessions.ts";
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

/** One of some strings, as plain JSON Schema that every provider takes. */
export function StringEnum<Values extends readonly string[]>(
  values: Values,
  options: { description?: string; default?: Values[number] } = {},
): TUnsafe<Values[number]> {
  return Type.Unsafe<Values[number]>({ type: "string", enum: [...values], ...options });
}

/** True for an answer that says that the request was too long, also one that was cut off in silence. */
export function isContextOverflow(answer: AssistantMessage, contextWindow?: number): boolean {
  const { stopReason, errorMessage, provider, model, usage } = answer;
  if (stopReason !== "error") return !!contextWindow && inputTokens(usage) > contextWindow;
  const status = /^(\d{3})\b/.exec(errorMessage ?? "")?.[1];
  const error = new ProviderError({
    kind: "refused",
    message: errorMessage ?? "",
    ...(status === undefined ? {} : { status: Number(status) }),
  });
  return classifyFailure({ error, provider, modelId: model }).kind === "inputTooLong";
}

const TOKENS = 1_000_000;

/** Writes what a usage cost in US dollars into it, by the model's prices. */
export function calculateCost(model: GivenModel, usage: Usage): Usage["cost"] {
  const { cost: prices } = piModel(bonsaiModel(model));
  const { cost } = usage;
  cost.input = (usage.input * prices.input) / TOKENS;
  cost.output = (usage.output * prices.output) / TOKENS;
  cost.cacheRead = (usage.cacheRead * prices.cacheRead) / TOKENS;
  cost.cacheWrite = (usage.cacheWrite * prices.cacheWrite) / TOKENS;
  cost.total = cost.input + cost.output + cost.cacheRead + cost.cacheWrite;
  return cost;
}
