import { randomBytes } from "node:crypto";
import type { Usage } from "@bonsai-agent/messages";
import { type ProviderApi, thinkingLevelsOf } from "@bonsai-agent/models";
import { askedThinking } from "@bonsai-agent/models/host";
import { type TUnsafe, Type } from "typebox";
import { inUse } from "../context-in-use.ts";
import { bonsaiModel, type GivenModel, type PiModel, piModel } from "../models/model.ts";
import { answerWithKey, levelOf, type PiAskOptions, type PiContext } from "../models/requests.ts";
import { type AssistantMessageEventStream, piStream } from "../models/streams.ts";

export { Type } from "typebox";
export { ToolCallArgumentsStream } from "../models/arguments-stream.ts";
export {
  complete,
  complete as completeSimple,
  stream,
  stream as streamSimple,
} from "../models/requests.ts";
export { AssistantMessageEventStream, createAssistantMessageEventStream } from "../models/streams.ts";
export {
  collapseSystemMessages,
  currentSystemPrompt as getCurrentSystemPrompt,
  currentTools as getCurrentTools,
} from "../models/transcript.ts";

export const anthropicMessagesApi = wireApi("anthropic-messages");
export const openAICompletionsApi = wireApi("openai-chat");
export const openAIResponsesApi = wireApi("openai-responses");

/** A protocol as a pair of functions. They use the protocol, whatever the model's `api`, with the key of the options. */
function wireApi(api: ProviderApi) {
  const stream = (
    model: GivenModel,
    context: PiContext,
    options: PiAskOptions = {},
  ): AssistantMessageEventStream => piStream(answerWithKey({ ...bonsaiModel(model), api }, context, options));
  return () => ({ stream, streamSimple: stream });
}

/** A model of the host; undefined outside of any context. */
export function getModel(provider: string, id: string): PiModel | undefined {
  const model = inUse()?.context.modelRegistry.find(provider, id);
  return model && piModel(model);
}

/** The model's level that makes the same request as `level`. */
export function clampThinkingLevel(given: GivenModel, level: string): string {
  const model = bonsaiModel(given);
  const levels: readonly string[] = thinkingLevelsOf(model);
  if (levels.length === 0) return "off";
  const effect = (each: string) => askedThinking(model, levelOf(each));
  return levels.find((each) => effect(each) === effect(level)) ?? levels.at(-1)!;
}

/** One of some strings, as plain JSON Schema that every provider takes. */
export function StringEnum<Values extends readonly string[]>(
  values: Values,
  options: { description?: string; default?: Values[number] } = {},
): TUnsafe<Values[number]> {
  return Type.Unsafe<Values[number]>({ type: "string", enum: [...values], ...options });
}

const TOKENS = 1_000_000;

/** Writes the cost of a usage into it, in US dollars by the model's prices. */
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

/** An id that sorts by time (RFC 9562, version 7). `timestampMs`: milliseconds since the epoch; default now. */
export function uuidv7(timestampMs = Date.now()): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(timestampMs, 0, 6);
  bytes[6] = 0x70 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  return bytes.toString("hex").replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, "$1-$2-$3-$4-$5");
}
