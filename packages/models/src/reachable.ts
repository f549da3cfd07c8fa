import { isLoopback } from "./catalogue/local-providers.ts";
import type { ProviderConfig } from "./catalogue-model.ts";
import type { KeySource } from "./keys.ts";

/** True where the provider has a key, or needs none. @throws what the key source throws */
export function isReachable(provider: ProviderConfig, keys: KeySource | undefined): boolean {
  return provider.apiKeyEnv === undefined || isLoopback(provider) || keys?.key(provider) !== undefined;
}
