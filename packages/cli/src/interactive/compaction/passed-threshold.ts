import { budgetsFor, thresholdTokens } from "@bonsai-agent/compaction";
import type { InteractiveWork } from "../interactive-work.ts";

/** The size above which the context is compacted by itself, where it has `tokens` and is above; else undefined. */
export function passedThreshold({ host }: Pick<InteractiveWork, "host">, tokens: number): number | undefined {
  const settings = host.workshop.settings.compaction;
  const limit = thresholdTokens(settings, budgetsFor({ settings, model: host.agent.model }));
  return settings.enabled && limit !== undefined && tokens > limit ? limit : undefined;
}
