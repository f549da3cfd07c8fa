import type { VirtualModules } from "@bonsai-agent/extension";

/** What `@earendil-works/pi-*`, `@mariozechner/pi-*` and `typebox` resolve to in an extension. */
export function piModules(): VirtualModules {
  return {};
}
