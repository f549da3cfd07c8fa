import { setTimeout as wait } from "node:timers/promises";
import { BonsaiError } from "@bonsai-agent/messages";
import { Exchange, type RequestHost } from "./exchange/exchange.ts";
import { LearnedWindows, RefusedThinking } from "./exchange/outgoing.ts";
import { defaultRetryPolicy, type RetryPolicy } from "./failure/failure.ts";
import type { KeySource } from "./keys/keys.ts";
import type { NamedSecret } from "./keys/secrets.ts";
import type { CatalogueModel, ProviderApi } from "./model.ts";
import type { ModelRequest, StreamEvent } from "./model-request.ts";
import type { OpenAiConnect, Provider } from "./provider.ts";
import { RefusedImages } from "./repair/refused-images.ts";

/** How models are asked. */
export interface ModelClientOptions {
  /** Default: no keys, which is enough for servers that want none. */
  keys?: KeySource | undefined;
  /** Who speaks a protocol. Default: the built-in providers, each loaded when it is first used. */
  providers?: Partial<Record<ProviderApi, ProviderLoader>> | undefined;
  /** What is not said stays as in `defaultRetryPolicy`. */
  retry?: Partial<RetryPolicy> | undefined;
  /** Take a 429 without a body for an overflow. Default false. */
  bodyless429IsOverflow?: boolean | undefined;
  /** Milliseconds since the epoch. Default: the clock. */
  now?: (() => number) | undefined;
  /** From 0 up to, not including, 1; for the jitter of waits. Default: `Math.random`. */
  random?: (() => number) | undefined;
  /** Waits before a retry; ends at once, as it likes, when the signal is aborted. Default: a timer. */
  sleep?: ((ms: number, signal: AbortSignal | undefined) => Promise<void>) | undefined;
}

/** Asks models: repairs, retries, output caps, and what a server taught about its window, for one session. */
export class ModelClient {
  readonly #host: RequestHost;
  readonly #providers: ProviderTable;
  readonly #policy: RetryPolicy;
  #connectors: readonly { name: string; connect: OpenAiConnect }[] = [];

  constructor(options: ModelClientOptions = {}) {
    const { keys, providers, retry, bodyless429IsOverflow = false } = options;
    const { now = Date.now, random = Math.random, sleep = timer } = options;
    this.#providers = new ProviderTable(providers);
    this.#policy = { ...defaultRetryPolicy, ...retry };
    this.#host = {
      provider: (model) => this.#providers.provider(model),
      connect: (provider) => this.#connectors.findLast(({ name }) => name === provider)?.connect,
      windows: new LearnedWindows(),
      refusedThinking: new RefusedThinking(),
      refusedImages: new RefusedImages(),
      keys,
      policy: this.#policy,
      bodyless429IsOverflow,
      now,
      random,
      sleep,
      notified: new Set(),
    };
  }

  /** The model with what its server has taught: a window smaller than the catalogue's. */
  sized(model: CatalogueModel): CatalogueModel {
    return this.#host.windows.sized(model);
  }

  /** Whether requests that fail in passing are made again: from the next request on. Default true. */
  setRetrying(isRetrying: boolean): void {
    const { maxRetries } = this.#policy;
    this.#host.policy = { ...this.#policy, maxRetries: isRetrying ? maxRetries : 0 };
  }

  /** Lets this provider answer for one whose `api` is `extension`, until the function returned is called. */
  serve(provider: string, by: Provider): () => void {
    return this.#providers.serve(provider, by);
  }

  /** Lets this make the SDK's clients for a provider in OpenAI's protocols, until the function returned is called. */
  connect(provider: string, connect: OpenAiConnect): () => void {
    const entry = { name: provider, connect };
    this.#connectors = [...this.#connectors, entry];
    return () => {
      this.#connectors = this.#connectors.filter((each) => each !== entry);
    };
  }

  /** The keys that are known, as they are now: what is shown and sent must not hold them. */
  secrets(): readonly NamedSecret[] {
    return this.#host.keys?.secrets?.() ?? [];
  }

  /** One answer, streamed. Never throws: whatever goes wrong is the stream's `error` event. */
  stream(request: ModelRequest): AsyncIterable<StreamEvent> {
    return new Exchange(request, this.#host).events();
  }
}

async function timer(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await wait(ms, undefined, signal === undefined ? undefined : { signal });
}

/** Who answers for a provider by its name. */
interface Served {
  name: string;
  provider: Provider;
}

/** Who answers, for one client: somebody who serves the provider, else who speaks its protocol, made when it is first asked for. */
class ProviderTable {
  readonly #loaders: Readonly<Partial<Record<ProviderApi, ProviderLoader>>>;
  readonly #loaded = new Map<ProviderApi, Promise<Provider>>();
  #served: readonly Served[] = [];

  constructor(own: Partial<Record<ProviderApi, ProviderLoader>> = {}) {
    this.#loaders = { ...builtInProviders, ...own };
  }

  /** Lets somebody answer for a provider until the function returned is called; the latest does. */
  serve(name: string, provider: Provider): () => void {
    const entry = { name, provider };
    this.#served = [...this.#served, entry];
    return () => {
      this.#served = this.#served.filter((each) => each !== entry);
    };
  }

  /**
   * @throws BonsaiError `provider_gone`, `protocol_unknown`; what a loader throws is thrown, and the next request tries
   *   again.
   */
  async provider({ api, provider: name }: Pick<CatalogueModel, "api" | "provider">): Promise<Provider> {
    const served = api === "extension" ? this.#served.findLast((each) => each.name === name) : undefined;
    if (served !== undefined) return served.provider;
    if (api === "extension") throw gone(name);
    return this.#speaker(api);
  }

  async #speaker(api: ProviderApi): Promise<Provider> {
    const loading = this.#loaded.get(api) ?? this.#load(api);
    this.#loaded.set(api, loading);
    try {
      return await loading;
    } catch (error) {
      this.#loaded.delete(api);
      throw error;
    }
  }

  async #load(api: ProviderApi): Promise<Provider> {
    const load = Object.hasOwn(this.#loaders, api) ? this.#loaders[api] : undefined;
    if (load !== undefined) return load();
    throw new BonsaiError({
      code: "protocol_unknown",
      message: `Unknown protocol ${JSON.stringify(api)}.`,
      hint: `Set the model's api to one of: ${Object.keys(this.#loaders).join(", ")}.`,
    });
  }
}

function gone(name: string): BonsaiError {
  return new BonsaiError({
    code: "provider_gone",
    message: `Cannot use ${name}: the extension that provides it is not loaded.`,
    hint: "Load the extension again, or choose another model.",
  });
}

/** Makes what speaks a protocol. */
export type ProviderLoader = () => Promise<Provider>;

/** The protocols that Bonsai speaks by itself. The SDKs are large: each is loaded when it is first used. */
const builtInProviders: Readonly<Record<Exclude<ProviderApi, "extension">, ProviderLoader>> = {
  "anthropic-messages": async () => (await import("./anthropic/anthropic.ts")).anthropicProvider(),
  "openai-responses": async () => (await import("./openai/openai-responses.ts")).openaiResponsesProvider(),
  "openai-chat": async () => (await import("./openai/openai-chat.ts")).openaiChatProvider(),
  scripted: async () => (await import("./scripted/scenario-file.ts")).scenarioProvider(),
};
