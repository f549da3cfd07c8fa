import type { Usage } from "@bonsai-agent/messages";
import type { ImportNotice } from "@bonsai-agent/transcripts";

/** What `bonsai import --json` prints. */
export interface ImportedReport {
  id: string;
  /** The session that was written. */
  file: string;
  format: string;
  program: string;
  cwd: string;
  leafId: string;
  entryCount: number;
  counts: Record<string, number>;
  skipped: Record<string, number>;
  models: string[];
  usage: Usage;
  /** Sub-agents' sessions inside the same transcript, which are not written. */
  subAgentCount: number;
  notices: ImportNotice[];
}
