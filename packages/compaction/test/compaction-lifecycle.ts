import { Lifecycle, type LifecycleNotice } from "@bonsai-agent/lifecycle";
import { type CompactionEvents, compactionEventRules } from "../src/index.ts";

/** A lifecycle with the rules of a compaction's events; its notices are added to the list. */
export function compactionLifecycle(notices: LifecycleNotice[] = []): Lifecycle<CompactionEvents> {
  return new Lifecycle({ rules: compactionEventRules, onNotice: (notice) => notices.push(notice) });
}
