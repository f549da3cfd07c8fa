import {
  type AssistantMessage,
  type ExtensionContext,
  type Message,
  messageText,
  tokenEstimator,
} from "@bonsai-agent/extension";
import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  SamplingMessage,
} from "@modelcontextprotocol/client";
import { contentBlocks } from "./content.ts";
import { plainPart } from "./foreign-text.ts";

type Model = NonNullable<ExtensionContext["model"]>;

/** A refused request to the model. The server gets its message. */
export class SamplingRefused extends Error {}

/** A server's request to the model. */
interface Sample {
  context: { messages: Message[]; systemPrompt?: string };
  maxTokens: number;
  /** The question to the user: size, price and text of the request. */
  question: string;
}

/** Maximum answer, whatever the server asks for. */
const MAX_ANSWER_TOKENS = 8_192;
const MAX_SHOWN_CHARS = 20_000;

/** @throws SamplingRefused for a request that Bonsai does not pass on: with tools, or without a message */
export function readSample(params: CreateMessageRequestParams, model: Model): Sample {
  const { systemPrompt = "", tools, toolChoice } = params;
  if (tools !== undefined || toolChoice !== undefined)
    throw new SamplingRefused("Sampling with tools is not supported.");
  if (params.messages.length === 0) throw new SamplingRefused("The request has no message.");
  const messages = params.messages.map((message) => messageFor(message, model));
  const limit = Math.min(params.maxTokens, MAX_ANSWER_TOKENS, model.maxOutputTokens ?? MAX_ANSWER_TOKENS);
  const maxTokens = Math.max(1, limit);
  const text = [
    ...(systemPrompt === "" ? [] : [`[System prompt]: ${systemPrompt}`]),
    ...messages.map((message) => `[${message.role}]: ${messageText(message)}`),
  ].join("\n\n");
  const promptTokens = tokenEstimator.text(systemPrompt + messages.map(messageText).join("\n"));
  const size = `The request has about ${promptTokens.toLocaleString("en")} tokens, the answer at most ${maxTokens.toLocaleString("en")}.`;
  return {
    context: { messages, ...(systemPrompt !== "" && { systemPrompt }) },
    maxTokens,
    question: `${size} Cost: ${maxCost(model, promptTokens, maxTokens)}. The server receives the answer. The request:\n\n${plainPart(text, MAX_SHOWN_CHARS)}`,
  };
}

function messageFor({ role, content }: SamplingMessage, model: Model): Message {
  const blocks = [content].flat().flatMap(contentBlocks);
  if (role === "user") return { role, content: blocks, timestamp: Date.now() };
  const none = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  return {
    role,
    content: blocks.filter((block) => block.type === "text"),
    api: model.api,
    provider: model.provider,
    model: model.id,
    usage: { ...none, totalTokens: 0, cost: { ...none, total: 0 } },
    stopReason: "stop",
    timestamp: Date.now(),
  };
}

function maxCost({ usdPerMillionTokens: prices }: Model, promptTokens: number, answerTokens: number): string {
  if (prices === undefined) return "price unknown";
  const dollars = (promptTokens * prices.input + answerTokens * prices.output) / 1_000_000;
  return dollars === 0 ? "free" : `at most $${dollars.toFixed(dollars < 0.01 ? 4 : 2)}`;
}

/** @throws SamplingRefused if the model did not answer */
export function sampleResult(answer: AssistantMessage): CreateMessageResult {
  const { content, stopReason, errorMessage, model } = answer;
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
