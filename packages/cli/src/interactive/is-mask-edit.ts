import { MASK_PLACEHOLDER } from "@bonsai-agent/compaction";
import { contentText } from "@bonsai-agent/messages";
import type { ContextEditEntry } from "@bonsai-agent/session";

/** True for an edit that clears a tool result; others leave a part of the message in the model's view. */
export function isMaskEdit({ replacement }: Pick<ContextEditEntry, "replacement">): boolean {
  return contentText(replacement?.content) === MASK_PLACEHOLDER;
}
