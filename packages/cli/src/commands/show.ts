import { statSync } from "node:fs";
import { FileOperationCounter } from "@bonsai-agent/compaction";
import { knownUsd } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { type ContextSize, contextSize } from "../context-size.ts";
import { freeModels, type IsFree } from "../free-models.ts";
import type { Invocation } from "../invocation.ts";
import { compactionRecord } from "../reports/compaction-record.ts";
import type { ShowReport } from "../reports/show-report.ts";
import { FactCounter } from "../session-facts.ts";
import { openNamedSession } from "../session-file.ts";
import { BranchEnds } from "../session-outline.ts";
import { showView } from "../views/show-view.ts";

export async function run(invocation: Invocation): Promise<undefined> {
  const session = openNamedSession(invocation);
  const { output, io } = invocation;
  const report = showReport(session, contextSize(session, invocation), await freeModels(io));
  output.result(report, () => showView({ report, width: output.width, nowMs: io.now() }));
}

function showReport(session: Session, size: ContextSize, isFree: IsFree): ShowReport {
  const { header } = session;
  const { entryCount, branchCount, files, facts } = readOnce(session);
  const { counts, usage, models, firstActivity, lastActivity, lastWrite } = facts;
  const file = session.file!;
  const cost = facts.cost.cost(isFree);
  return {
    id: session.id,
    file,
    sizeBytes: statSync(file).size,
    version: header.version ?? 1,
    cwd: session.cwd,
    name: session.name ?? null,
    parentSession: header.parentSession ?? null,
    createdAt: header.timestamp,
    firstActivity,
    lastActivity,
    lastWrite,
    leafId: session.leafId,
    entryCount,
    counts,
    branchCount,
    context: {
      ...{ items: size.items, tokens: size.tokens },
      ...{ isEstimate: size.isEstimate, estimatedTokens: size.estimatedTokens },
    },
    usage,
    costUsd: knownUsd(cost),
    cost,
    models,
    readFiles: files.read.toSorted(),
    modifiedFiles: files.modified.toSorted(),
    problemCount: session.problems().length,
    compaction: compactionRecord(session, size),
  };
}

/** What is wanted of all branches, from one reading of the file. */
function readOnce(session: Session) {
  const counter = new FactCounter(session.header);
  const files = new FileOperationCounter();
  const ends = new BranchEnds(session.index());
  let entryCount = 0;
  for (const { entry, number } of session.scan()) {
    counter.add(entry);
    const message = entry.type === "message" ? entry.message : undefined;
    // Calls, and failures of calls.
    if (message && (message.role !== "toolResult" || message.isError)) files.add(message);
    ends.add(entry, number);
    entryCount += 1;
  }
  return { entryCount, branchCount: ends.count(), files: files.operations(), facts: counter.facts() };
}
