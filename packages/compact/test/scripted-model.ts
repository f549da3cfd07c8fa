import { APICallError, simulateReadableStream, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { z } from "zod";

type Options = Parameters<MockLanguageModelV4["doGenerate"]>[0];
type Generated = Awaited<ReturnType<MockLanguageModelV4["doGenerate"]>>;
type StreamPart =
  Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"] extends ReadableStream<infer Part>
    ? Part
    : never;

export const PAGE = "Valves are opened slowly, and never under pressure. ".repeat(60);

export const tools = {
  read_page: tool({
    description: "Reads a page of the manual",
    inputSchema: z.object({ page: z.number() }),
    execute: async () => PAGE,
  }),
};

interface ScriptedModel {
  /** The number of pages that it reads before it answers. */
  pages: number;
  /** It refuses a longer request. Default: it refuses none. */
  maxTokens?: number;
  /** In a stream, the refusal is an error part instead of an exception. */
  refusesInStream?: boolean;
}

/** A model that reads pages one after the other, then answers. */
export function scriptedModel({
  pages,
  maxTokens = Number.POSITIVE_INFINITY,
  refusesInStream,
}: ScriptedModel) {
  let read = 0;
  const answer = (options: Options): Generated => {
    const tokens = tokensOf(options);
    if (tokens > maxTokens) throw refusal(tokens, maxTokens);
    read += 1;
    const isDone = read > pages;
    return {
      content: isDone
        ? [{ type: "text", text: "Open them slowly." }]
        : [
            {
              type: "reasoning",
              text: "Let me read.",
              providerMetadata: { mock: { signature: `s${read}` } },
            },
            {
              type: "tool-call",
              toolCallId: `call_${read}`,
              toolName: "read_page",
              input: `{"page":${read}}`,
            },
          ],
      finishReason: { unified: isDone ? "stop" : "tool-calls", raw: undefined },
      usage: {
        inputTokens: { total: tokens, noCache: tokens, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 20, text: 20, reasoning: 0 },
      },
      warnings: [],
    };
  };
  return new MockLanguageModelV4({
    provider: "mock",
    modelId: "reader",
    doGenerate: async (options) => answer(options),
    doStream: async (options) => {
      try {
        return { stream: simulateReadableStream({ chunks: partsOf(answer(options)) }) };
      } catch (error) {
        if (!refusesInStream) throw error;
        const chunks: StreamPart[] = [
          { type: "stream-start", warnings: [] },
          { type: "error", error },
        ];
        return { stream: simulateReadableStream({ chunks }) };
      }
    },
  });
}

function partsOf({ content, finishReason, usage }: Generated): StreamPart[] {
  const parts = content.flatMap((part): StreamPart[] => {
    if (part.type !== "text") return part.type === "tool-call" ? [part] : [];
    return [
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: part.text },
      { type: "text-end", id: "1" },
    ];
  });
  return [{ type: "stream-start", warnings: [] }, ...parts, { type: "finish", finishReason, usage }];
}

export function tokensOf({ prompt }: Pick<Options, "prompt">): number {
  return Math.ceil(JSON.stringify(prompt).length / 4);
}

function refusal(tokens: number, maxTokens: number): APICallError {
  const message = `prompt is too long: ${tokens} tokens > ${maxTokens} maximum`;
  const responseBody = JSON.stringify({ type: "error", error: { type: "invalid_request_error", message } });
  const url = "https://api.example/v1/messages";
  return new APICallError({ message, url, requestBodyValues: {}, statusCode: 400, responseBody });
}

/** The sizes of all requests, in tokens. */
export function requestSizes(model: MockLanguageModelV4): number[] {
  const calls = [...model.doGenerateCalls, ...model.doStreamCalls];
  return calls.map((call) => tokensOf(call));
}
