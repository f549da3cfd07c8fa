import { isRecord, type ProviderSummary } from "@bonsai-agent/messages";
import type { CompactionEntry, Entry } from "./entry.ts";
import { refusedSummaryOf } from "./own-entries.ts";

/** The provider's own summary in a compaction's details. Undefined for none, and for a damaged one. */
export function storedProviderSummary({
  details,
}: Pick<CompactionEntry, "details">): ProviderSummary | undefined {
  const stored = isRecord(details) ? details.provider : undefined;
  if (!isRecord(stored)) return undefined;
  const { api, provider, model, items, tokens, isSealed } = stored;
  const hasMaker = [api, provider, model].every((name) => typeof name === "string" && name !== "");
  if (!hasMaker || !Array.isArray(items) || items.length === 0 || !items.every(isRecord)) return undefined;
  return {
    ...({ api, provider, model } as Pick<ProviderSummary, "api" | "provider" | "model">),
    items,
    tokens: typeof tokens === "number" && tokens > 0 && Number.isFinite(tokens) ? tokens : 0,
    ...(isSealed === true && { isSealed }),
  };
}

/**
 * The provider's summary that still stands for the summarised messages. Undefined if the provider refused it, or if one
 * of these messages was edited after the compaction.
 * @param visible the compaction and the kept part of the path, oldest first
 */
export function validProviderSummary(
  compaction: CompactionEntry,
  visible: readonly Entry[],
): ProviderSummary | undefined {
  const summary = storedProviderSummary(compaction);
  if (summary === undefined) return undefined;
  const shown = new Set(visible.map(({ id }) => id));
  const later = visible.slice(visible.lastIndexOf(compaction) + 1);
  const isOutdated = later.some(
    (entry) =>
      refusedSummaryOf(entry) === compaction.id ||
      (entry.type === "context_edit" && !shown.has(entry.targetId)),
  );
  return isOutdated ? undefined : summary;
}
