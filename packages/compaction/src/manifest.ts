import type { Calibration } from "@bonsai-agent/messages";
import type { CompactionEntry } from "@bonsai-agent/session";
import type { CompactionReason } from "./outcome.ts";
import { ownDetails } from "./own-details.ts";
import type { RungName } from "./rung.ts";

/** The record inside a compaction entry of what was kept, masked, summarised and lost, and what it cost. */
export interface CompactionManifest {
  reason: CompactionReason;
  rung: RungName;
  tokensBefore: number;
  tokensAfter: number;
  splitTurn: boolean;
  summarised: EntryRange;
  turnPrefix: EntryRange;
  kept: EntryRange;
  /** Entries whose content a mask replaced in the kept part. */
  masked: string[];
  /** What the kept part lost beyond masks. */
  lost: { media: string[]; truncated: string[] };
  /** The compaction whose summary this one updated. */
  previousCompactionId?: string;
  /** Requests to the summariser, answers that were refused included. */
  requests: number;
  costUsd: number;
  /** What the session's usage had taught about its tokens; a compaction takes the evidence away. */
  calibration?: Calibration;
  /** What was asked for: a later compaction that asks for less may go on from here. */
  settings: ManifestSettings;
  /** What was in force where the context was cut, for an opening that reads only the tail. */
  state: { provider?: string; modelId?: string; thinkingLevel?: string };
}

/** The settings of a compaction, sizes as scaled to the window. */
export interface ManifestSettings {
  preset: string;
  estimator: string;
  keepTokens: number;
  reserveTokens: number;
  /** Absent where the window was unknown. */
  windowTokens?: number;
}

/** Messages of the context, as a range: ids would grow with the session. */
export interface EntryRange {
  count: number;
  first?: string;
  last?: string;
}

/** The manifest of a compaction that we wrote; any part of it may be missing or damaged. */
export function manifestOf(compaction: CompactionEntry | undefined): Partial<CompactionManifest> | undefined {
  const { manifest } = ownDetails(compaction);
  return typeof manifest === "object" && manifest !== null ? manifest : undefined;
}
