import { statSync } from "node:fs";
import { fileOperations } from "@bonsai-agent/compaction";
import { knownUsd, type Message, toolCalls } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { type ContextSize, contextSize } from "../context-size.ts";
import { freeModels, type IsFree } from "../free-models.ts";
import type { Invocation } from "../invocation.ts";
import { compactionRecord } from "../reports/compaction-record.ts";
import type { ShowReport } from "../reports/show-report.ts";
import { FactCounter, type SessionFacts } from "../session-facts.ts";
import { openNamedSession } from "../session-file.ts";
import { eachEntry, type OutlineEntry, outlineEntry } from "../session-outline.ts";
import { branchCount, sessionTree } from "../session-tree.ts";
import { showView } from "../views/show-view.ts";

export async function run(invocation: Invocation): Promise<undefined> {
  const session = openNamedSession(invocation);
  const { output, io } = invocation;
  const report = showReport(session, contextSize(session, invocation), await freeModels(io));
  output.result(report, () => showView({ report, width: output.width, nowMs: io.now() }));
}

function showReport(session: Session, size: ContextSize, isFree: IsFree): ShowReport {
  const { header } = session;
  const { entries, calling, facts } = readOnce(session);
  const { counts, usage, models, firstActivity, lastActivity, lastWrite } = facts;
  const { read, modified } = fileOperations(calling);
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
    entryCount: entries.length,
    counts,
    branchCount: branchCount(sessionTree(session, entries)),
    context: { items: size.items, tokens: size.tokens, isEstimate: size.isEstimate },
    usage,
    costUsd: knownUsd(cost),
    cost,
    models,
    readFiles: read.toSorted(),
    modifiedFiles: modified.toSorted(),
    problemCount: session.problems().length,
    compaction: compactionRecord(session, size),
  };
}

/** What is wanted of all branches, from one reading of the file. */
function readOnce(session: Session): { entries: OutlineEntry[]; calling: Message[]; facts: SessionFacts } {
  const counter = new FactCounter();
  const entries: OutlineEntry[] = [];
  const calling: Message[] = [];
  eachEntry(session, (entry, number) => {
    counter.add(entry);
    entries.push(outlineEntry(entry, number));
    if (entry.type === "message" && entry.message) calling.push(...callsOnly(entry.message));
  });
  return { entries, calling, facts: counter.facts() };
}

/** What tells which files were touched: calls, and failures of calls. Large texts are not held. */
function callsOnly(message: Message): Message[] {
  if (message.role === "toolResult") return message.isError ? [{ ...message, content: [] }] : [];
  const calls = toolCalls(message);
  return message.role === "assistant" && calls.length > 0 ? [{ ...message, content: calls }] : [];
}
