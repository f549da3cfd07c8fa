import { AnswerBuilder } from "../src/answer-builder.ts";
import type { CatalogueModel } from "../src/model.ts";
import type { StreamEvent } from "../src/model-request.ts";
import type { Provider, ProviderCall } from "../src/provider.ts";
import { leastCall } from "./provider-exchange.ts";

export { user } from "./provider-exchange.ts";

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
  return { ...leastCall(model), maxOutputTokens: 100, ...changes };
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
