import { Anthropic } from "@anthropic-ai/sdk";
import { Stream } from "@anthropic-ai/sdk/core/streaming";
import { isRecord } from "@bonsai-agent/messages";
import type { OpenAiClientSettings, Provider, ProviderCall } from "../provider.ts";
import { wireStream, withoutCustomHeaders } from "../wire/stream.ts";
import { anthropicRequest, isAnthropicHost } from "./anthropic-request.ts";
import { AnthropicStream } from "./anthropic-stream.ts";

/** The provider of the Anthropic Messages API, for Anthropic and compatible servers. */
export function anthropicProvider(): Provider {
  return {
    stream: (call, answer) =>
      wireStream({
        call,
        path: "/v1/messages",
        request: anthropicRequest(call),
        reading: new AnthropicStream(answer),
        client: (settings) => sdkClient(call, settings),
        parse: Stream.rawEvents,
        isError,
      }),
  };
}

/** Other servers send an error without a type, as an object or as a sentence. */
function isError(event: unknown): boolean {
  if (!isRecord(event)) return false;
  const { type, error, message } = event;
  return type === "error" || (typeof type !== "string" && Boolean(error ?? message));
}

/** Makes a client for one request. It uses nothing from the environment, and does not retry, log or trace. */
function sdkClient({ model, apiKey }: ProviderCall, settings: OpenAiClientSettings): Anthropic {
  return new Anthropic({
    ...settings,
    // `new URL` refuses an empty address, for which the SDK uses Anthropic's.
    baseURL: new URL(model.baseUrl).href.replace(/(?<!\/)\/+$/, "").replace(/\/v1$/, ""),
    // Without a key, the SDK searches the environment and files for the user's own.
    apiKey: apiKey ?? "",
    webhookKey: null,
    openTelemetry: false,
    defaultHeaders: {
      ...withoutCustomHeaders(process.env.ANTHROPIC_CUSTOM_HEADERS),
      ...authorization(model.baseUrl, apiKey),
      ...model.headers,
    },
  });
}

/** The SDK sends the key to Anthropic as a bearer token. Other servers expect `x-api-key`. */
function authorization(baseUrl: string, apiKey: string | undefined): Record<string, string | null> {
  if (!apiKey) return { authorization: null };
  return isAnthropicHost(baseUrl) ? {} : { "x-api-key": apiKey };
}
