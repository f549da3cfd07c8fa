import type { AssistantMessage, ExtensionContext, Message } from "@bonsai-agent/extension";
import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  SamplingMessage,
} from "@modelcontextprotocol/sdk/types.js";
import { plainPart } from "./foreign-text.ts";

type Model = NonNullable<ExtensionContext["model"]>;
type UserContent = Exclude<Extract<Message, { role: "user" }>["content"], string>;

/** A request of a server that cannot be met; the server reads why. */
export class SamplingRefused extends Error {}

/** What a server wants to ask the model, as a model is asked. */
export interface Sample {
  messages: Message[];
  systemPrompt: string;
  /** Tokens. */
  maxTokens: number;
  /** All of it, for the user to read. */
  shown: string;
}

/** A server gets no longer answer than this, whatever it asks for. */
const mostAnswerTokens = 8_192;
const mostImageCharacters = 7_000_000;

/**
 * Reads what a server wants to ask.
 * @throws SamplingRefused for what no model is asked here: tools, sounds
 */
export function readSample(params: CreateMessageRequestParams, model: Model): Sample {
  if (params.tools !== undefined || params.toolChoice !== undefined)
    throw new SamplingRefused("Sampling with tools is not supported.");
  const messages = params.messages.map((message) => messageOf(message, model));
  if (messages.length === 0) throw new SamplingRefused("The request has no message.");
  const maxTokens = Math.max(
    1,
    Math.min(params.maxTokens, mostAnswerTokens, model.maxOutputTokens ?? mostAnswerTokens),
  );
  const { systemPrompt = "" } = params;
  const shown = [
    ...(systemPrompt === "" ? [] : [`[System prompt]: ${systemPrompt}`]),
    ...params.messages.map(({ role, content }) => `[${role}]: ${shownContent(content)}`),
  ].join("\n\n");
  return { messages, systemPrompt, maxTokens, shown: plainPart(shown, 20_000) };
}

function messageOf({ role, content }: SamplingMessage, model: Model): Message {
  const parts = [content].flat().map(partOf);
  if (role === "user") return { role, content: parts, timestamp: Date.now() };
  const texts = parts.filter((part) => part.type === "text");
  if (texts.length < parts.length) throw new SamplingRefused("Assistant messages may contain only text.");
  const none = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  return {
    role,
    content: texts,
    api: model.api,
    provider: model.provider,
    model: model.id,
    usage: { ...none, totalTokens: 0, cost: { ...none, total: 0 } },
    stopReason: "stop",
    timestamp: Date.now(),
  };
}

type SamplingPart = Exclude<SamplingMessage["content"], unknown[]>;

function partOf(part: SamplingPart): UserContent[number] {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type === "image" && part.data.length <= mostImageCharacters)
    return { type: "image", data: part.data, mimeType: part.mimeType };
  throw new SamplingRefused(
    part.type === "image" ? "The image is too large." : `Content of type ${part.type} is not supported.`,
  );
}

function shownContent(content: SamplingMessage["content"]): string {
  return [content]
    .flat()
    .map((part) =>
      part.type === "text"
        ? part.text
        : part.type === "image"
          ? `[image ${part.mimeType}, ${Math.ceil((part.data.length * 3) / 4 / 1_000)} kB]`
          : `[${part.type}]`,
    )
    .join("\n");
}

/** What it may cost, as far as the model's prices are known: "at most $0.0123", else "price unknown". */
export function mostCost(model: Model, promptTokens: number, answerTokens: number): string {
  const { usdPerMillionTokens: prices } = model;
  if (prices === undefined) return "price unknown";
  const dollars = (promptTokens * prices.input + answerTokens * prices.output) / 1_000_000;
  return dollars === 0 ? "free" : `at most $${dollars.toFixed(dollars < 0.01 ? 4 : 2)}`;
}

/**
 * The model's answer, as the server gets it.
 * @throws SamplingRefused where the model did not answer
 */
export function sampleResult({
  content,
  stopReason,
  errorMessage,
  model,
}: AssistantMessage): CreateMessageResult {
  if (stopReason === "error" || stopReason === "aborted")
    throw new SamplingRefused(`The model did not answer: ${errorMessage ?? stopReason}`);
  const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  return {
    role: "assistant",
    content: { type: "text", text },
    model,
    stopReason: stopReason === "length" ? "maxTokens" : "endTurn",
  };
}
