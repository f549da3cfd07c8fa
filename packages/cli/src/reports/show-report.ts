import type { KnownCost, Usage } from "@bonsai-agent/messages";
import type { CompactionRecord } from "./compaction-record.ts";

/** What `bonsai show --json` prints. */
export interface ShowReport {
  id: string;
  file: string;
  sizeBytes: number;
  /** Version of the format on disk. */
  version: number;
  cwd: string;
  name: string | null;
  parentSession: string | null;
  /** ISO 8601. */
  createdAt: string;
  /** Of the first and of the last message. */
  firstActivity: string | null;
  lastActivity: string | null;
  /** Of any entry: a compaction, a move or a label is no activity. */
  lastWrite: string | null;
  leafId: string | null;
  entryCount: number;
  /** Messages by role, other entries by type. */
  counts: Record<string, number>;
  branchCount: number;
  /** The tokens of the next request as far as it is known; `isEstimate` where no provider's report can be trusted, else `estimatedTokens` since the report. */
  context: { items: number; tokens: number; isEstimate: boolean; estimatedTokens: number };
  usage: Usage;
  /** Null where not all of it is known; `usage.cost` has what is. */
  costUsd: number | null;
  cost: KnownCost;
  models: { model: string; answers: number }[];
  readFiles: string[];
  modifiedFiles: string[];
  /** Damages that `bonsai doctor` lists. */
  problemCount: number;
  compaction: CompactionRecord | null;
}
