import { BonsaiError } from "@bonsai-agent/messages";
import { sleep } from "@bonsai-agent/messages/host";
import { defaultRetryPolicy, type RetryPolicy } from "./exchange/attempts.ts";
import { Exchange, type RequestHost } from "./exchange/exchange.ts";
import { LearnedWindows, RefusedImages, RefusedThinking } from "./exchange/learned.ts";
import type { KeySource } from "./keys/keys.ts";
import type { NamedSecret } from "./keys/secrets.ts";
import type { CatalogueModel, ProviderApi } from "./model.ts";
import type { FinalEvent, ModelRequest, StreamEvent } from "./model-request.ts";
import type { OpenAiConnect, Provider } from "./provider.ts";

/** Options of a ModelClient. */
export interface ModelClientOptions {
  /** Default: no keys, enough for servers without keys. */
  keys?: KeySource | undefined;
  /** Providers by protocol. Default: the built-in ones, loaded at their first use. */
  providers?: Partial<Record<ProviderApi, ProviderLoader>> | undefined;
  /** Overrides of `defaultRetryPolicy`. */
  retry?: Partial<RetryPolicy> | undefined;
  /** Classify a 429 without a body as an overflow. Default false. */
  bodyless429IsOverflow?: boolean | undefined;
  /** Milliseconds since the epoch. Default: the clock. */
  now?: (() => number) | undefined;
  /** Returns a number from 0 up to, not including, 1, for the jitter of waits. Default: `Math.random`. */
  random?: (() => number) | undefined;
  /** Waits before a retry. Ends early after an abort. Default: a timer. */
  sleep?: ((ms: number, signal: AbortSignal | undefined) => Promise<void>) | undefined;
}

/** Sends requests to models for one session: repairs, retries, output caps and learned windows. */
export class ModelClient {
  readonly #host: RequestHost;
  readonly #policy: RetryPolicy;
  readonly #loaders: Readonly<Partial<Record<ProviderApi, ProviderLoader>>>;
  readonly #loaded = new Map<ProviderApi, Promise<Provider>>();
  #served: readonly { name: string; provider: Provider }[] = [];
  #connectors: readonly { name: string; connect: OpenAiConnect }[] = [];

  constructor(options: ModelClientOptions = {}) {
    const { keys, providers, retry, bodyless429IsOverflow = false } = options;
    const { now = Date.now, random = Math.random, sleep: wait = sleep } = options;
    this.#loaders = { ...builtInProviders, ...providers };
    this.#policy = { ...defaultRetryPolicy, ...retry };
    this.#host = {
      provider: (model) => this.#providerOf(model),
      connect: (provider) => this.#connectors.findLast(({ name }) => name === provider)?.connect,
      windows: new LearnedWindows(),
      refusedThinking: new RefusedThinking(),
      refusedImages: new RefusedImages(),
      refusedSummaries: new WeakSet(),
      keys,
      policy: this.#policy,
      bodyless429IsOverflow,
      now,
      random,
      sleep: wait,
      notified: new Set(),
    };
  }

  /** The model with its learned window, if that is smaller than the catalogue's. */
  withLearnedWindow(model: CatalogueModel): CatalogueModel {
    return this.#host.windows.withLearnedWindow(model);
  }

  /** Switches retries on or off, from the next request on. Default: on. */
  setRetrying(isRetrying: boolean): void {
    const { maxRetries } = this.#policy;
    this.#host.policy = { ...this.#policy, maxRetries: isRetrying ? maxRetries : 0 };
  }

  /** Adds the provider for a name whose `api` is `extension`. The latest one counts. Returns a function that removes it. */
  serve(name: string, provider: Provider): () => void {
    const entry = { name, provider };
    this.#served = [...this.#served, entry];
    return () => {
      this.#served = this.#served.filter((each) => each !== entry);
    };
  }

  /** Makes the SDK's clients for a provider in OpenAI's protocols. Returns a function that removes it. */
  connect(provider: string, connect: OpenAiConnect): () => void {
    const entry = { name: provider, connect };
    this.#connectors = [...this.#connectors, entry];
    return () => {
      this.#connectors = this.#connectors.filter((each) => each !== entry);
    };
  }

  /** The known keys, for redaction. */
  secrets(): readonly NamedSecret[] {
    return this.#host.keys?.secrets?.() ?? [];
  }

  /** Streams one answer. Never throws: every failure is the stream's `error` event. */
  stream(request: ModelRequest): AsyncIterable<StreamEvent> {
    return new Exchange(request, this.#host).events();
  }

  /** @throws BonsaiError `provider_gone`, `protocol_unknown`; what a loader throws. The next request loads again then */
  async #providerOf({ api, provider: name }: CatalogueModel): Promise<Provider> {
    if (api !== "extension") return this.#ofProtocol(api);
    const served = this.#served.findLast((each) => each.name === name);
    if (served !== undefined) return served.provider;
    throw new BonsaiError({
      code: "provider_gone",
      message: `Cannot use ${name}: the extension that provides it is not loaded.`,
      hint: "Load the extension again, or choose another model.",
    });
  }

  async #ofProtocol(api: ProviderApi): Promise<Provider> {
    const load = Object.hasOwn(this.#loaders, api) ? this.#loaders[api] : undefined;
    if (load === undefined)
      throw new BonsaiError({
        code: "protocol_unknown",
        message: `Unknown protocol ${JSON.stringify(api)}.`,
        hint: `Set the model's api to one of: ${Object.keys(this.#loaders).join(", ")}.`,
      });
    const loading = this.#loaded.get(api) ?? load();
    this.#loaded.set(api, loading);
    try {
      return await loading;
    } catch (error) {
      this.#loaded.delete(api);
      throw error;
    }
  }
}

/** Makes the provider of a protocol. */
export type ProviderLoader = () => Promise<Provider>;

/** The built-in protocols. The SDKs are large: each is loaded at its first use. */
const builtInProviders: Readonly<Record<Exclude<ProviderApi, "extension">, ProviderLoader>> = {
  "anthropic-messages": async () => (await import("./anthropic/anthropic.ts")).anthropicProvider(),
  "openai-responses": async () => (await import("./openai/openai-responses.ts")).openaiResponsesProvider(),
  "openai-chat": async () => (await import("./openai/openai-chat.ts")).openaiChatProvider(),
  scripted: async () => (await import("./scripted/scripted.ts")).scenarioProvider(),
};

/** Reads a stream to its end. */
export async function finalEvent(stream: AsyncIterable<StreamEvent>): Promise<FinalEvent> {
  let last: StreamEvent | undefined;
  for await (const event of stream) last = event;
  if (last?.type === "done" || last?.type === "error") return last;
  throw new TypeError("The model's stream ended without an answer.");
}
