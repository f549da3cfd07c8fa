import { existsSync, statSync } from "node:fs";
import { basename } from "node:path";
import { FileOperationCounter } from "@bonsai-agent/compaction/host";
import { contextTokens, costText, knownUsd } from "@bonsai-agent/messages";
import { usdColumn } from "@bonsai-agent/messages/numbers";
import type { Session } from "@bonsai-agent/session";
import { lossView, summaryExcerpt } from "./compact-view.ts";
import { type CompactionRecord, compactionRecord } from "./compaction-record.ts";
import type { contextSize } from "./context-report.ts";
import { fileListLines, type Line, lineWidth, marked, paragraph, span, table } from "./line.ts";
import {
  age,
  bytes,
  count,
  counted,
  duration,
  moment,
  percent,
  sizeChange,
  sizeSource,
  sizeText,
} from "./numbers.ts";
import { kindWord } from "./preview.ts";
import { FactCounter, type IsFree } from "./session-facts.ts";
import { oneLine, wrap } from "./terminal-text.ts";

/** The JSON of `bonsai session show`. */
export type SessionReport = ReturnType<typeof sessionReport>;

/** Counts all branches in one reading of the file. */
export function sessionReport(session: Session, size: ReturnType<typeof contextSize>, isFree: IsFree) {
  const { header, file = null } = session;
  const counter = new FactCounter(header);
  const files = new FileOperationCounter();
  const { length: problemCount } = session.problems((entry) => {
    counter.add(entry);
    if (entry.type === "message") files.add(entry.message);
  });
  const { entryCount, counts, usage, models, firstActivity, lastActivity, ...facts } = counter.facts();
  const { read, modified } = files.operations();
  const { items, tokens, isEstimate, estimatedTokens } = size;
  const cost = facts.cost.cost(isFree);
  return {
    id: session.id,
    file,
    sizeBytes: file !== null && existsSync(file) ? statSync(file).size : 0,
    version: header.version ?? 1,
    cwd: session.cwd,
    name: session.name ?? null,
    parentSession: header.parentSession ?? null,
    createdAt: header.timestamp,
    firstActivity,
    lastActivity,
    leafId: session.leafId,
    entryCount,
    counts,
    branchCount: session.branchCount,
    context: { items, tokens, isEstimate, estimatedTokens },
    usage,
    costUsd: knownUsd(cost),
    cost,
    models,
    readFiles: read.toSorted(),
    modifiedFiles: modified.toSorted(),
    problemCount,
    compaction: compactionRecord(session, size),
  };
}

interface ViewOptions {
  width: number;
  nowMs: number;
  windowTokens?: number | undefined;
}

/** The facts of a session, for `bonsai session show` and `/session`. */
export function* sessionView(report: SessionReport, options: ViewOptions): Generator<Line> {
  const { width } = options;
  const { name, file, id, usage, cost, modifiedFiles, readFiles, compaction, problemCount } = report;
  yield [span(name ?? (file === null ? id : basename(file)), ["bold", "green"])];
  for (const [label, value] of facts(report, options)) yield* factLines(label, value, width);
  if (cost.certainty !== "known" || usage.cost.total > 0 || contextTokens(usage) > 0)
    yield* usageTable(report, width);
  if (compaction !== null) yield* compactionLines(compaction, options);
  yield* fileListLines("Files modified", modifiedFiles, width);
  yield* fileListLines("Files read", readFiles, width);
  if (problemCount === 0) return;
  yield [];
  yield [
    span("! ", ["bold", "yellow"]),
    `This file has ${counted(problemCount, "problem")}. Run `,
    span(`bonsai session doctor ${oneLine(file ?? id)}`, "cyan"),
  ];
}

function facts(report: SessionReport, { nowMs, windowTokens }: ViewOptions): [string, Line][] {
  const { counts, models, parentSession } = report;
  const kinds = Object.entries(counts).map(([kind, many]) => `${kindWord(kind)} ${count(many)}`);
  return [
    ["id", [report.id]],
    ["folder", [report.cwd]],
    ["file", [fileWords(report)]],
    ["activity", activity(report, nowMs)],
    ["entries", [`${count(report.entryCount)}${kinds.length === 0 ? "" : ` (${kinds.join(", ")})`}`]],
    ["models", [models.map(({ model, answers }) => `${model} (${count(answers)})`).join(", ") || "none"]],
    ["branches", [`${count(report.branchCount)}, now at ${report.leafId ?? "the beginning"}`]],
    ["context", contextFact(report, windowTokens)],
    ...(parentSession === null ? [] : [["fork of", [parentSession]] satisfies [string, Line]]),
  ];
}

function fileWords({ file, sizeBytes, version }: SessionReport): string {
  if (file === null) return "none, the session is only in memory";
  return sizeBytes === 0
    ? `${file} (created with the first message)`
    : `${file} (${bytes(sizeBytes)}, format version ${version})`;
}

const NAME_COLUMNS = 10;

/** A long value continues on the next lines, so that a path can be copied. */
function factLines(name: string, value: Line, width: number): Line[] {
  const head = span(`  ${name.padEnd(NAME_COLUMNS)} `, "gray");
  const valueWidth = width - lineWidth([head]);
  if (lineWidth(value) <= valueWidth) return [[head, ...value]];
  const text = value.map((part) => (typeof part === "string" ? part : part.text)).join("");
  return marked(head, wrap(oneLine(text, 2000), valueWidth));
}

function contextFact({ context }: SessionReport, windowTokens: number | undefined): Line {
  const of =
    windowTokens === undefined ? "" : ` of ${count(windowTokens)} (${percent(context.tokens, windowTokens)})`;
  const items = counted(context.items, "item");
  return [`${sizeText(context)}${of} in ${items}`, span(`  ${sizeSource(context)}`, "gray")];
}

function activity({ firstActivity, lastActivity }: SessionReport, nowMs: number): Line {
  if (firstActivity === null || lastActivity === null) return ["none"];
  const [first, last] = [Date.parse(firstActivity), Date.parse(lastActivity)];
  const length = last > first ? `, for ${duration(last - first)}` : "";
  return [age(last, nowMs), span(`  ${moment(first, nowMs)}${length}`, "gray")];
}

function* usageTable({ usage, cost }: SessionReport, width: number): Generator<Line> {
  const kinds = [
    ["input", usage.input, usage.cost.input],
    ["cache read", usage.cacheRead, usage.cost.cacheRead],
    ["cache write", usage.cacheWrite, usage.cost.cacheWrite],
    ["output", usage.output, usage.cost.output],
  ] as const;
  const tokens = kinds.reduce((sum, [, value]) => sum + value, 0);
  const parts = kinds.map(([, , part]) => part);
  const prices = usdColumn(parts, usage.cost.total);
  const isKnown = cost.certainty === "known" && isSumOf(usage.cost.total, parts);
  const rows = [
    ...kinds.map(([name, value], at): Line[] => [[name], [count(value)], [isKnown ? prices[at]! : "—"]]),
    [[span("total", "bold")], [span(count(tokens), "bold")], [span(costText(cost), "bold")]],
  ];
  yield [];
  yield [span("Usage", "bold")];
  yield* table(rows, { columns: [{}, { align: "right" }, { align: "right" }], width, indent: 2 });
}

/** Accepted difference of a sum of many small numbers. */
const ROUNDING_SHARE = 1e-6;

/** Some programs store only the total of a cost. */
function isSumOf(total: number, parts: readonly number[]): boolean {
  return Math.abs(parts.reduce((sum, part) => sum + part, 0) - total) <= total * ROUNDING_SHARE;
}

function* compactionLines(record: CompactionRecord, { width, nowMs }: ViewOptions): Generator<Line> {
  yield [];
  const { compactionCount, lastCompactedAt, carried, loss, provider, summary } = record;
  const times = compactionCount > 1 ? `, ${compactionCount} on this path` : "";
  yield [
    span("Latest compaction", "bold"),
    span(`  ${age(Date.parse(lastCompactedAt), nowMs)}${times}`, "gray"),
  ];
  yield* paragraph(summarisedText(record), width, undefined, 2);
  yield [`  ${sizeChange(record)}`];
  const known = { carried: carried ?? undefined, loss: loss ?? undefined, provider };
  yield* lossView(known, { width, indent: 2 });
  yield* summaryExcerpt(summary, width);
}

/** A compaction counts the messages of the context; those before an earlier one are in its summary already. */
function summarisedText({ compactedMessageCount: all, summarisedCount }: CompactionRecord): string {
  if (summarisedCount === null || summarisedCount === all) return `Summarised ${counted(all, "message")}:`;
  const news = `Summarised ${counted(summarisedCount, "message")} of the context`;
  return `${news}. With earlier compactions, the summary covers ${count(all)} messages:`;
}
