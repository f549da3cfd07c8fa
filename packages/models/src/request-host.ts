import { BonsaiError } from "@bonsai-agent/messages";
import type { CatalogueModel } from "./catalogue-model.ts";
import type { IgnoredUsage } from "./counted-tokens.ts";
import type { KeySource } from "./keys.ts";
import type { LearnedWindows } from "./learned-windows.ts";
import type { ModelNotice } from "./notice.ts";
import type { ProviderTable } from "./provider-table.ts";
import { isReachable } from "./reachable.ts";
import { RefusedThinking } from "./refused-thinking.ts";
import type { Repair, RepairKind } from "./repair/repair.ts";
import type { RetryPolicy } from "./retry.ts";

export interface RequestHostOptions {
  providers: ProviderTable;
  windows: LearnedWindows;
  keys: KeySource | undefined;
  policy: RetryPolicy;
  bodyless429IsOverflow: boolean;
  now: () => number;
  random: () => number;
  sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** What the requests of one client share. Owner of which repairs and which wrong usages have been told. */
export class RequestHost {
  readonly providers: ProviderTable;
  readonly windows: LearnedWindows;
  readonly policy: RetryPolicy;
  readonly bodyless429IsOverflow: boolean;
  readonly now: () => number;
  readonly random: () => number;
  readonly sleep: RequestHostOptions["sleep"];
  readonly refusedThinking = new RefusedThinking();
  readonly #keys: KeySource | undefined;
  readonly #told = new Set<RepairKind>();
  readonly #wrongCounters = new Set<string>();

  constructor(options: RequestHostOptions) {
    this.providers = options.providers;
    this.windows = options.windows;
    this.policy = options.policy;
    this.bodyless429IsOverflow = options.bodyless429IsOverflow;
    this.now = options.now;
    this.random = options.random;
    this.sleep = options.sleep;
    this.#keys = options.keys;
  }

  /** @throws BonsaiError `key_missing` where a provider wants a key and none is found; what the key source throws. */
  key(model: CatalogueModel): string | undefined {
    const key = this.#keys?.key(model);
    if (key !== undefined || isReachable(model, undefined)) return key;
    const { apiKeyEnv, provider } = model;
    throw new BonsaiError({
      code: "key_missing",
      message: `There is no key for ${provider}.`,
      hint: `Store one with /login, set ${apiKeyEnv} in the environment, or write {"${provider}": {"type": "api_key", "key": "…"}} to ~/.bonsai/auth.json.`,
    });
  }

  /** Tells of a usage that cannot be, once for each model: a server that counts wrong does so at every answer. */
  tellIgnoredUsage(
    usage: IgnoredUsage | undefined,
    { provider, id: modelId }: CatalogueModel,
    tell: (notice: ModelNotice) => void,
  ): void {
    const name = `${provider}/${modelId}`;
    if (usage === undefined || this.#wrongCounters.has(name)) return;
    this.#wrongCounters.add(name);
    tell({ type: "usage_ignored", provider, modelId, ...usage });
  }

  /** Tells of repairs, each kind once: the same history comes again with every request. */
  tellRepairs(repairs: readonly Repair[], tell: (notice: ModelNotice) => void): void {
    const fresh = repairs.filter(({ kind }) => !this.#told.has(kind));
    for (const { kind } of fresh) this.#told.add(kind);
    if (fresh.length > 0) tell({ type: "repair", repairs: fresh });
  }
}
