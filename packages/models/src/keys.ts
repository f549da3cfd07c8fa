import type { ProviderConfig } from "./catalogue-model.ts";

/** Where keys come from. */
export interface KeySource {
  /** The key for a provider; undefined where there is none, or none is needed. */
  key(provider: ProviderConfig): string | undefined;
}
