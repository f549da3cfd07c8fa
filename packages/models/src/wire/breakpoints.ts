import type { ProviderCall } from "../provider.ts";

/** Writing the prefix of a single question to the cache would only cost more. */
export function isOneOff({ purpose, messages }: Pick<ProviderCall, "purpose" | "messages">): boolean {
  return purpose !== "turn" && !messages.some((message) => message.role === "assistant");
}
