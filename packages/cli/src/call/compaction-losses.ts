import { type GapRecord, gapRecord, lostFacts } from "@bonsai-agent/compaction/host";
import type { Entry } from "@bonsai-agent/session";
import { compactionSpans } from "@bonsai-agent/transcripts";
import type { CompactionLoss } from "../views/losses-view.ts";

/**
 * The losses of all compactions on a path, oldest first.
 * @param knowsRestored false for an agent that does not yet know the texts beside the summary. Default: true
 */
export function compactionLosses(path: readonly Entry[], knowsRestored = true): CompactionLoss[] {
  let record: GapRecord | undefined;
  return compactionSpans(path).flatMap(({ messages, compaction }) => {
    record = gapRecord(record, messages);
    if (compaction === undefined) return [];
    const { entryId, timestamp, summary, restored } = compaction;
    const lost = lostFacts(record, knowsRestored ? `${summary}\n${restored}` : summary);
    return [{ entryId, timestamp, lost }];
  });
}
