import type { AssistantMessage } from "@bonsai-agent/messages";
import type { CatalogueModel } from "./catalogue-model.ts";

/** True for an answer of this model itself: what it signed, and what it thought, means something to it. */
export function isOwnAnswer(message: AssistantMessage, { provider, id, api }: CatalogueModel): boolean {
  return message.provider === provider && message.model === id && message.api === api;
}
