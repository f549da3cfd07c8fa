import { addUsage, jsonText, type Message, type ProviderSummary, type Usage } from "@bonsai-agent/messages";
import { isNote, RECALL_TOOL } from "@bonsai-agent/messages/host";
import {
  type FinalEvent,
  finalEvent,
  type ModelClient,
  type ModelRequest,
  type ThinkingLevel,
} from "@bonsai-agent/models";
import {
  type ContextEditEntry,
  customTypes,
  type Entry,
  pinChange,
  type Session,
} from "@bonsai-agent/session";
import { compactionChange } from "@bonsai-agent/session/host";
import type { SystemPromptInUse } from "../prompt/system-prompt.ts";
import type { ToolRegistry } from "../tools/tool-registry.ts";

/** The parts of a turn's request that stay the same: a compaction with them finds the turn's prefix in the cache. */
export type TurnBase = Pick<
  ModelRequest,
  "systemPrompt" | "tools" | "thinking" | "cacheKey" | "prefixChangedAtMs" | "onRefusedSummary"
>;

/** The parts of the next request that do not depend on its messages. */
export function turnBase({
  systemPrompt,
  tools,
  session,
  selection,
}: {
  systemPrompt: Pick<SystemPromptInUse, "current">;
  tools: ToolRegistry;
  session: Session;
  selection: { readonly thinking: ThinkingLevel };
}): TurnBase {
  return {
    systemPrompt: systemPrompt.current,
    tools: tools.declarations(),
    thinking: selection.thinking,
    cacheKey: session.id,
    prefixChangedAtMs: prefixChangedAtMs(session),
    onRefusedSummary: (summary) => recordRefusedSummary(session, summary),
  };
}

/** Messages of the context as requests send them. */
export function withHints(messages: readonly Message[], tools: ToolRegistry): Message[] {
  const offersRecall = tools.get(RECALL_TOOL) !== undefined;
  return messages.map((message) =>
    offersRecall && message.role === "compactionSummary" ? { ...message, offersRecall } : message,
  );
}

/** Time of the last change that invalidates signed thinking. Compactions and masked results do not: providers want it back. */
function prefixChangedAtMs(session: Session): number | undefined {
  for (const entry of session.tail()) if (changesPrefix(session, entry)) return Date.parse(entry.timestamp);
  return undefined;
}

function changesPrefix(session: Session, entry: Entry): boolean {
  if (compactionChange(entry) !== undefined) return true;
  if (pinChange(entry)?.isPinned === false) return true;
  if (entry.type !== "context_edit") return false;
  const edited = session.entry(entry.targetId);
  if (edited?.type === "custom_message" && isNote(edited)) return false;
  if (isImageEdit(entry, edited)) return false;
  if (edited?.type !== "message") return true;
  const { message } = edited;
  // No later thinking depends on a tool result or a failed answer.
  return message.role !== "toolResult" && !(message.role === "assistant" && message.stopReason === "error");
}

/** True for an edit that only replaces images with text. The later answers already saw that text. */
export function isImageEdit({ replacement }: ContextEditEntry, edited: Entry | undefined): boolean {
  const before = blocksOf(edited?.type === "message" ? edited.message : edited);
  const after = blocksOf(replacement);
  if (before === undefined || after === undefined || before.length !== after.length) return false;
  return before.every((block, at) => block?.type === "image" || jsonText(block) === jsonText(after[at]));
}

/** A block of a message that may be damaged. */
export type Block = { type: string; data?: unknown; text?: unknown };

export function blocksOf(holder: unknown): Block[] | undefined {
  const content = (holder as { content?: unknown } | null | undefined)?.content;
  return Array.isArray(content) ? content : undefined;
}

/** Records in the session that the provider refused its own summary: from now on, its model gets the readable one. */
export function recordRefusedSummary(session: Session, refused: ProviderSummary): void {
  const [first] = session.projection().items;
  if (first?.message.role !== "compactionSummary" || first.message.provider === undefined) return;
  if (JSON.stringify(first.message.provider.items) !== JSON.stringify(refused.items)) return;
  const data = { compactionId: first.entryId };
  session.append({ type: "custom", customType: customTypes.refusedSummary, data });
}

/** Waits for the end of a stream. `usage` counts all attempts. */
export async function completedAnswer(
  models: ModelClient,
  request: ModelRequest,
): Promise<{ final: FinalEvent; usage: Usage }> {
  const voided: Usage[] = [];
  const final = await finalEvent(models.stream({ ...request, onVoidedUsage: (usage) => voided.push(usage) }));
  return { final, usage: voided.reduce(addUsage, final.message.usage) };
}
