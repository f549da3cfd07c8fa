import { BonsaiError } from "@bonsai-agent/messages";
import { AnswerBuilder } from "./answer-builder.ts";
import type { CatalogueModel, ProviderApi } from "./catalogue-model.ts";
import { classifyFailure } from "./classify-failure.ts";
import type { ModelFailure } from "./failure.ts";
import type { KeySource } from "./keys.ts";
import type { ModelRequest } from "./model-request.ts";
import { type Provider, type ProviderCall, ProviderError } from "./provider.ts";
import type { RetryPolicy } from "./retry.ts";
import type { StreamEvent } from "./stream-event.ts";

export interface ModelClientOptions {
  keys?: KeySource;
  /** Who speaks a protocol. Default: the built-in providers, each loaded when it is first used. */
  providers?: Partial<Record<ProviderApi, () => Promise<Provider>>>;
  retry?: Partial<RetryPolicy>;
  /** Take a 429 without a body for an overflow. Default false. */
  bodyless429IsOverflow?: boolean;
  /** Milliseconds since the epoch. Default: the clock. */
  now?: () => number;
}

/** Asks models: repairs, retries, output caps, and what a server taught about its window, for one session. */
export class ModelClient {
  readonly #options: ModelClientOptions;

  constructor(options: ModelClientOptions = {}) {
    this.#options = options;
  }

  /** The model with what its server has taught: a window smaller than the catalogue's. */
  sized(model: CatalogueModel): CatalogueModel {
    return model;
  }

  /** One answer, streamed. Never throws: whatever goes wrong is the stream's `error` event. */
  async *stream(request: ModelRequest): AsyncIterable<StreamEvent> {
    const { now = Date.now } = this.#options;
    const answer = new AnswerBuilder(request.model, now());
    yield answer.start();
    try {
      const provider = await this.#provider(request.model.api);
      yield* provider.stream(this.#call(request), answer);
      yield { type: "done", message: answer.message };
    } catch (error) {
      if (request.signal?.aborted) {
        answer.stop("aborted");
        yield { type: "error", message: answer.message };
        return;
      }
      const failure = this.#failure(request, error);
      answer.stop("error");
      answer.message.errorMessage = failure.message;
      yield { type: "error", message: answer.message, failure };
    }
  }

  #failure({ model }: ModelRequest, error: unknown): ModelFailure {
    if (!(error instanceof ProviderError)) throw error;
    return classifyFailure({ error, provider: model.provider, modelId: model.id });
  }

  async #provider(api: ProviderApi): Promise<Provider> {
    const load = this.#options.providers?.[api];
    if (load === undefined) {
      throw new BonsaiError({ code: "protocol_unknown", message: `No provider speaks ${api}.`, hint: "" });
    }
    return load();
  }

  #call(request: ModelRequest): ProviderCall {
    const { model, purpose, systemPrompt, tools, messages, cacheKey } = request;
    return {
      model,
      purpose,
      apiKey: this.#options.keys?.key(model),
      systemPrompt,
      tools,
      messages,
      maxOutputTokens: request.maxOutputTokens ?? Math.min(model.maxOutputTokens ?? 4096, 32_000),
      thinking: request.thinking ?? "off",
      cacheKey,
      signal: request.signal ?? new AbortController().signal,
      onPayload: async (payload) => request.onPayload?.(payload) ?? payload,
      onResponse: async (response) => request.onResponse?.(response),
    };
  }
}
