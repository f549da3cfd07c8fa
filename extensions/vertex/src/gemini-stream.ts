import {
  BonsaiError,
  type ProviderAnswer,
  type ProviderStreamRequest,
  type StreamEvent,
} from "@bonsai-agent/extension";
import { retryAfterMs } from "@bonsai-agent/extension/providers";
import { GoogleGenAI, type GoogleGenAIOptions } from "@google/genai";
import { GeminiAnswer } from "./gemini-answer.ts";
import { requestError, streamError } from "./gemini-errors.ts";
import { geminiRequest } from "./gemini-request.ts";
import { missingForVertex, type Service, vertexSettings } from "./google-settings.ts";

/** One attempt of a request. @throws ProviderError; BonsaiError without credentials or a project */
export async function* geminiStream(
  service: Service,
  request: ProviderStreamRequest,
  answer: ProviderAnswer,
): AsyncGenerator<StreamEvent, void, void> {
  const reading = new GeminiAnswer(answer);
  const { signal } = request;
  const chunks = await opened(service, request);
  try {
    for await (const chunk of chunks) {
      signal.throwIfAborted();
      yield* reading.take(chunk);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw streamError(error, service);
  }
  reading.end();
}

async function opened(service: Service, request: ProviderStreamRequest) {
  const { signal } = request;
  const { model, contents, config } = geminiRequest(request);
  let waitMs: number | undefined;
  const onResponse = ({ headers }: Response) => {
    waitMs = retryAfterMs(headers);
  };
  try {
    const client = quietly(() => new GoogleGenAI(optionsFor(service, request, onResponse)));
    return await client.models.generateContentStream({
      model,
      contents,
      config: { ...config, abortSignal: signal },
    });
  } catch (error) {
    signal.throwIfAborted();
    throw requestError(error, service, waitMs);
  }
}

function optionsFor(
  service: Service,
  { apiKey, model }: ProviderStreamRequest,
  onResponse: (response: Response) => void,
): GoogleGenAIOptions {
  const httpOptions = {
    ...(model.headers && { headers: { ...model.headers } }),
    // A redirection must not get the key and the conversation.
    fetch: async (url: string | URL | Request, init?: RequestInit) => {
      const response = await fetch(url, { ...init, redirect: "manual" });
      onResponse(response);
      return response;
    },
  };
  // Explicit, because both services use the same variables.
  if (service === "gemini") return { vertexai: false, httpOptions, ...(apiKey !== undefined && { apiKey }) };
  const settings = vertexSettings(process.env);
  if (settings === undefined)
    throw new BonsaiError({
      /** No Google Cloud project is set. */
      code: "vertex_no_project",
      message: missingForVertex(process.env) ?? "",
      hint: "Then restart bonsai or run /reload.",
    });
  return { vertexai: true, ...settings, httpOptions };
}

/** Silences the SDK's line about its variables, which would appear on the screen. */
function quietly<Made>(make: () => Made): Made {
  const { warn, debug } = console;
  console.warn = () => {};
  console.debug = () => {};
  try {
    return make();
  } finally {
    Object.assign(console, { warn, debug });
  }
}
