import type { ProviderConfig } from "./catalogue-model.ts";
import type { NamedSecret } from "./known-secrets.ts";

/** Where keys come from. */
export interface KeySource {
  /** The key for a provider; undefined where there is none, or none is needed. */
  key(provider: ProviderConfig): string | undefined;
  /** All that is known, to be kept out of what is shown and sent, as it is now. Default: nothing. */
  secrets?(): readonly NamedSecret[];
}

/** Where a key was found. */
export type KeyOrigin = "lent" | "environment" | "file";

/** Keys that were lent, then those of the environment, then of a file that can be changed. */
export interface KeyFile extends KeySource {
  /** Where the provider's key stands; undefined where there is none. */
  source(provider: ProviderConfig): KeyOrigin | undefined;
  /** Writes a provider's key to the file; keys of other providers stay. */
  store(provider: string, key: string): void;
  /** Takes a provider's key out of the file; false where there was none. */
  remove(provider: string): boolean;
  /**
   * Uses this key for the provider until the function returned is called; it is written nowhere. The latest counts.
   * @throws BonsaiError `keys_invalid`
   */
  lend(provider: string, key: string): () => void;
}
