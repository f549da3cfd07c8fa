import type { Message } from "@bonsai-agent/messages";
import { AnswerBuilder } from "../src/answer-builder.ts";
import type { CatalogueModel } from "../src/model.ts";
import type { StreamEvent } from "../src/model-request.ts";
import type { Provider, ProviderCall } from "../src/provider.ts";

export const model: CatalogueModel = {
  provider: "scripted",
  id: "actor",
  name: "Actor",
  api: "scripted",
  baseUrl: "",
  input: ["text"],
  reasoning: false,
};

export function callOf(changes: Partial<ProviderCall> = {}): ProviderCall {
  return {
    model,
    purpose: "turn",
    apiKey: undefined,
    systemPrompt: "Be brief.",
    tools: [],
    messages: [user("Hello")],
    maxOutputTokens: 100,
    thinking: "off",
    cacheKey: undefined,
    signal: new AbortController().signal,
    onAlive: () => {},
    onPayload: async (payload) => payload,
    onResponse: async () => {},
    ...changes,
  };
}

export function user(text: string): Message {
  return { role: "user", content: text, timestamp: 0 };
}

export interface Performance {
  answer: AnswerBuilder;
  events: StreamEvent[];
  error: unknown;
}

export async function perform(provider: Provider, call: ProviderCall): Promise<Performance> {
  const answer = new AnswerBuilder(call.model, 0);
  const events: StreamEvent[] = [];
  try {
    for await (const event of provider.stream(call, answer)) events.push(structuredClone(event));
    return { answer, events, error: undefined };
  } catch (error) {
    return { answer, events, error };
  }
}

export const long = (words: number) => "word ".repeat(words);
