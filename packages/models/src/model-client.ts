import { setTimeout as wait } from "node:timers/promises";
import { Exchange, type RequestHost } from "./exchange.ts";
import type { KeySource, NamedSecret } from "./keys.ts";
import { LearnedWindows } from "./learned-windows.ts";
import type { CatalogueModel, ProviderApi } from "./model.ts";
import type { ModelRequest, StreamEvent } from "./model-request.ts";
import { RefusedThinking } from "./outgoing.ts";
import type { Provider } from "./provider.ts";
import { type ProviderLoader, ProviderTable } from "./provider-table.ts";
import { defaultRetryPolicy, type RetryPolicy } from "./retry.ts";

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

  constructor(options: ModelClientOptions = {}) {
    const { keys, providers, retry, bodyless429IsOverflow = false } = options;
    const { now = Date.now, random = Math.random, sleep = timer } = options;
    this.#host = {
      providers: new ProviderTable(providers),
      windows: new LearnedWindows(),
      refusedThinking: new RefusedThinking(),
      keys,
      policy: { ...defaultRetryPolicy, ...retry },
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

  /** Lets this provider answer for one whose `api` is `extension`, until the function returned is called. */
  serve(provider: string, by: Provider): () => void {
    return this.#host.providers.serve(provider, by);
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
