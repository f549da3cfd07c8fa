import { tailEntries } from "@bonsai-agent/compaction";
import type { Entry, PathSettings, Session } from "@bonsai-agent/session";

/** What the part of the path in memory says of model and thinking. */
export interface RecentSettings extends PathSettings {
  /** True when that part is the whole path: what it does not say was never said. */
  isWhole: boolean;
}

/**
 * What the session was last worked on with, as far as the part of the path tells that the model sees: that is in
 * memory, while the rest would have to be read.
 */
export function recentSettings(session: Session): RecentSettings {
  const found: PathSettings = {};
  let oldest: Entry | undefined;
  for (const entry of tailEntries(session, session.leafId, session.projection().compaction)) {
    oldest = entry;
    if (entry.type === "thinking_level_change") found.thinkingLevel ??= entry.thinkingLevel;
    if (entry.type === "model_change") found.model ??= { provider: entry.provider, modelId: entry.modelId };
    if (entry.type === "message" && entry.message.role === "assistant")
      found.model ??= { provider: entry.message.provider, modelId: entry.message.model };
    if (found.model !== undefined && found.thinkingLevel !== undefined) break;
  }
  return { ...found, isWhole: (oldest?.parentId ?? null) === null };
}
