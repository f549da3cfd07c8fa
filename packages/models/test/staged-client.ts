import type { AnswerBuilder } from "../src/answer-builder.ts";
import type { CatalogueModel } from "../src/model.ts";
import { finalEvent, ModelClient, type ModelClientOptions } from "../src/model-client.ts";
import type { ModelNotice, ModelRequest, StreamEvent } from "../src/model-request.ts";
import { type ProviderCall, ProviderError, type ProviderErrorOptions } from "../src/provider.ts";

export const model: CatalogueModel = {
  provider: "lab",
  id: "actor",
  name: "Actor",
  api: "scripted",
  baseUrl: "https://lab.example",
  input: ["text", "image"],
  reasoning: true,
  contextWindow: 100_000,
  maxOutputTokens: 20_000,
  usdPerMillionTokens: { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.25 },
};

export type Step = (call: ProviderCall, answer: AnswerBuilder) => AsyncIterable<StreamEvent>;

/** A provider that plays one step for each attempt, the last one for ever, and a client that waits for nobody. */
export function stage(steps: Step[], options: ModelClientOptions = {}) {
  const calls: ProviderCall[] = [];
  const waits: number[] = [];
  const notices: ModelNotice[] = [];
  const client = new ModelClient({
    providers: {
      scripted: async () => ({
        stream: (call, answer) => {
          calls.push(call);
          return steps[Math.min(calls.length, steps.length) - 1]!(call, answer);
        },
      }),
    },
    sleep: async (ms) => {
      waits.push(ms);
    },
    random: () => 0,
    now: () => 1,
    ...options,
  });
  const request = (change: Partial<ModelRequest> = {}): ModelRequest => ({
    model,
    purpose: "turn",
    systemPrompt: "Be brief.",
    tools: [],
    messages: [{ role: "user", content: "Hello", timestamp: 0 }],
    onNotice: (notice) => notices.push(notice),
    ...change,
  });
  const ask = (change: Partial<ModelRequest> = {}) => finalEvent(client.stream(request(change)));
  return { client, calls, waits, notices, request, ask };
}

export const says = (
  text: string,
  usage: Parameters<AnswerBuilder["setUsage"]>[0] = { input: 100, output: 10 },
  reason = "stop",
): Step =>
  async function* (_call, answer) {
    yield answer.text(text);
    answer.setUsage(usage);
    answer.stop(reason);
  };

export const refuses = (message: string, options: Partial<ProviderErrorOptions> = {}): Step =>
  async function* () {
    yield* [];
    throw new ProviderError({ kind: "refused", status: 400, message, ...options });
  };

export const types = (notices: readonly ModelNotice[]) => notices.map(({ type }) => type);
