import { statSync } from "node:fs";
import { chars4Estimator, type Usage } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { type CompactionRecord, compactionRecord } from "../compaction-record.ts";
import type { Invocation } from "../invocation.ts";
import { sessionFacts } from "../session-facts.ts";
import { openNamedSession } from "../session-file.ts";
import { branchCount, sessionTree } from "../session-tree.ts";
import { showView } from "../views/show-view.ts";

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
  firstActivity: string | null;
  lastActivity: string | null;
  leafId: string | null;
  entryCount: number;
  /** Messages by role, other entries by type. */
  counts: Record<string, number>;
  branchCount: number;
  context: { items: number; tokens: number };
  usage: Usage;
  costUsd: number;
  models: { model: string; answers: number }[];
  readFiles: string[];
  modifiedFiles: string[];
  /** Damages that `bonsai doctor` lists. */
  problemCount: number;
  compaction: CompactionRecord | null;
}

export async function run(invocation: Invocation): Promise<undefined> {
  const session = openNamedSession(invocation);
  const { output, io } = invocation;
  const report = showReport(session);
  output.result(report, () => showView({ report, width: output.width, nowMs: io.now() }));
}

function showReport(session: Session): ShowReport {
  const { header } = session;
  const { counts, usage, models, firstActivity, lastActivity, name } = sessionFacts(session.entries());
  const { items } = session.projection();
  const file = session.file!;
  return {
    id: session.id,
    file,
    sizeBytes: statSync(file).size,
    version: header.version ?? 1,
    cwd: session.cwd,
    name,
    parentSession: header.parentSession ?? null,
    createdAt: header.timestamp,
    firstActivity,
    lastActivity,
    leafId: session.leafId,
    entryCount: session.entries().length,
    counts,
    branchCount: branchCount(sessionTree(session)),
    context: {
      items: items.length,
      tokens: items.reduce((sum, item) => sum + chars4Estimator.message(item.message), 0),
    },
    usage,
    costUsd: usage.cost.total,
    models,
    readFiles: [],
    modifiedFiles: [],
    problemCount: 0,
    compaction: compactionRecord(session.path(), chars4Estimator),
  };
}
