import type { ExtensionAdapter } from "@bonsai-agent/extension";

/** Lays pi's names that have no place in Bonsai over the API and the context. */
export function piAdapter(): ExtensionAdapter {
  return {};
}
