import { OpenAI } from "openai";
import { _iterSSEMessages as parse } from "openai/core/streaming";
import type { StreamEvent } from "../model-request.ts";
import type { OpenAiClientSettings, ProviderCall } from "../provider.ts";
import { type AnswerReading, wireStream, withoutCustomHeaders } from "../wire/stream.ts";
import { isOpenAiHost } from "./openai-servers.ts";

interface OpenAiStreamOptions {
  call: ProviderCall;
  path: string;
  request: object;
  reading: AnswerReading;
}

/** Runs one attempt of a request, in either protocol. Throws what an extension's `connect` throws. */
export function openAiStream(options: OpenAiStreamOptions): AsyncIterable<StreamEvent> {
  const { call } = options;
  const { model, apiKey, connect } = call;
  return wireStream({
    ...options,
    client: (settings) => connect?.(settings, { model, apiKey }) ?? ownClient(call, settings),
    parse,
    isError: (event) => Boolean((event as { error?: unknown } | null)?.error),
  });
}

function ownClient({ model, apiKey }: ProviderCall, settings: OpenAiClientSettings): OpenAI {
  const isOpenAi = isOpenAiHost(model.baseUrl);
  return new OpenAI({
    ...settings,
    baseURL: model.baseUrl,
    // The SDK demands a key. Without one of ours, the header is removed.
    apiKey: apiKey ?? "none",
    adminAPIKey: null,
    // The environment's OpenAI account is no other server's business.
    ...(!isOpenAi && { organization: null, project: null }),
    defaultHeaders: {
      ...(!isOpenAi && withoutCustomHeaders(process.env.OPENAI_CUSTOM_HEADERS)),
      ...(apiKey === undefined && { Authorization: null }),
      ...model.headers,
    },
  });
}
