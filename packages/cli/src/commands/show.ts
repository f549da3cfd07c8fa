import { statSync } from "node:fs";
import { basename } from "node:path";
import { FileOperationCounter } from "@bonsai-agent/compaction/host";
import { contextTokens, costText, type KnownCost, knownUsd, type Usage } from "@bonsai-agent/messages";
import { usdColumn } from "@bonsai-agent/messages/numbers";
import type { Session } from "@bonsai-agent/session";
import type { Invocation } from "../call/invocation.ts";
import { printedSecrets } from "../call/printed-secrets.ts";
import { openNamedSession } from "../call/session-file.ts";
import { callSettings } from "../call/settings.ts";
import { lossView, summaryExcerpt } from "../views/compact-view.ts";
import { type CompactionRecord, compactionRecord } from "../views/compaction-record.ts";
import { contextSize } from "../views/context-report.ts";
import {
  bar,
  fileListLines,
  kindStyle,
  type Line,
  lineWidth,
  marked,
  paragraph,
  type Style,
  span,
  table,
} from "../views/line.ts";
import {
  age,
  bytes,
  count,
  counted,
  duration,
  largest,
  moment,
  percents,
  sizeChange,
  sizeSource,
  sizeText,
} from "../views/numbers.ts";
import { FactCounter, freeModels, type IsFree } from "../views/session-facts.ts";
import { oneLine, wrap } from "../views/terminal-text.ts";

export async function run(invocation: Invocation): Promise<undefined> {
  if (invocation.options.sources === true) return (await import("./show-sources.ts")).showSources(invocation);
  const session = openNamedSession(invocation);
  const { output, io } = invocation;
  const { kinds, ...shown } = showReport(
    session,
    contextSize(session, callSettings(invocation)),
    await freeModels(io),
  );
  const report = printedSecrets(invocation, session).value(shown);
  output.result(report, () => showView({ report, kinds, width: output.width, nowMs: io.now() }));
}

function showReport(session: Session, size: ReturnType<typeof contextSize>, isFree: IsFree) {
  const { header } = session;
  const { branchCount, files, facts, problemCount } = readOnce(session);
  const { entryCount, counts, kinds, usage, models, firstActivity, lastActivity, lastWrite } = facts;
  const { items, tokens, isEstimate, estimatedTokens } = size;
  const file = session.file!;
  const cost = facts.cost.cost(isFree);
  const report: ShowReport = {
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
    context: { items, tokens, isEstimate, estimatedTokens },
    usage,
    costUsd: knownUsd(cost),
    cost,
    models,
    readFiles: files.read.toSorted(),
    modifiedFiles: files.modified.toSorted(),
    problemCount,
    compaction: compactionRecord(session, size),
  };
  return { ...report, kinds };
}

/** Facts of all branches, from one reading of the file. */
function readOnce(session: Session) {
  const counter = new FactCounter(session.header);
  const files = new FileOperationCounter();
  const { length: problemCount } = session.problems((entry) => {
    counter.add(entry);
    if (entry.type === "message") files.add(entry.message);
  });
  return {
    branchCount: session.branchCount,
    files: files.operations(),
    facts: counter.facts(),
    problemCount,
  };
}

/** The JSON of `bonsai session show`. */
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
  /** The times of the first and the last message. */
  firstActivity: string | null;
  lastActivity: string | null;
  /** The time of the latest entry: a compaction, a move or a label is no activity. */
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
  /** Damages that `bonsai session doctor` lists. */
  problemCount: number;
  compaction: CompactionRecord | null;
}

interface ShowViewOptions {
  report: ShowReport;
  /** Entries by the words of a screen, most first. */
  kinds: readonly (readonly [word: string, count: number])[];
  width: number;
  nowMs: number;
}

/** The facts of a session. */
export function* showView(options: ShowViewOptions): Generator<Line> {
  const { report, kinds, width } = options;
  yield [span(report.name ?? basename(report.file), ["bold", "green"])];
  yield* facts(options);
  yield* section("Entries", entryRows(kinds, width), width);
  if (report.cost.certainty !== "known" || report.usage.cost.total > 0 || contextTokens(report.usage) > 0)
    yield* section("Usage", usageRows(report), width);
  yield* fileListLines("Files modified", report.modifiedFiles, width);
  yield* fileListLines("Files read", report.readFiles, width);
  if (report.compaction !== null) yield* compactionLines(report.compaction, options);
  if (report.problemCount > 0) yield* problemNotice(report);
}

function facts({ report, width, nowMs }: ShowViewOptions): Line[] {
  const rows: [string, Line][] = [
    ["id", [report.id]],
    ["folder", [report.cwd]],
    ["file", [report.file]],
    ["size", [`${bytes(report.sizeBytes)}, format version ${report.version}`]],
    ["activity", activity(report, nowMs)],
    ...lastWrite(report, nowMs),
    [
      "models",
      [report.models.map(({ model, answers }) => `${model} (${count(answers)})`).join(", ") || "none"],
    ],
    ["branches", [`${count(report.branchCount)}, now at ${report.leafId ?? "the beginning"}`]],
    ["context", contextFact(report)],
  ];
  if (report.parentSession !== null) rows.push(["fork of", [report.parentSession]]);
  return rows.flatMap(([name, value]) => factLines(name, value, width));
}

const factNameWidth = 10;

/** A value too long for its line goes on below, so that a path can be copied. */
function factLines(name: string, value: Line, width: number): Line[] {
  const head = span(`  ${name.padEnd(factNameWidth)} `, "gray");
  const valueWidth = width - lineWidth([head]);
  if (lineWidth(value) <= valueWidth) return [[head, ...value]];
  const text = value.map((part) => (typeof part === "string" ? part : part.text)).join("");
  return marked(head, wrap(oneLine(text, 2000), valueWidth));
}

function contextFact({ context }: ShowReport): Line {
  const items = counted(context.items, "item");
  return [`${sizeText(context)} in ${items}`, span(`  ${sizeSource(context)}`, "gray")];
}

function activity({ firstActivity, lastActivity }: ShowReport, nowMs: number): Line {
  if (firstActivity === null || lastActivity === null) return ["none"];
  const [first, last] = [Date.parse(firstActivity), Date.parse(lastActivity)];
  const length = last > first ? `, for ${duration(last - first)}` : "";
  return [age(last, nowMs), span(`  ${moment(first, nowMs)}${length}`, "gray")];
}

/** Only where it differs from the activity. */
function lastWrite({ lastActivity, lastWrite }: ShowReport, nowMs: number): [string, Line][] {
  if (lastWrite === null) return [];
  const ms = Date.parse(lastWrite);
  const known = lastActivity === null ? "" : age(Date.parse(lastActivity), nowMs);
  return age(ms, nowMs) === known
    ? []
    : [["last write", [age(ms, nowMs), span(`  ${moment(ms, nowMs)}`, "gray")]]];
}

function* section(title: string, rows: Line[][], width: number): Generator<Line> {
  yield [];
  yield [span(title, "bold")];
  const columns = [{}, { align: "right" }, { align: "right" }, {}] as const;
  yield* table(rows, { columns, width, indent: 2 });
}

const maxGaugeWidth = 24;

function entryRows(rows: ShowViewOptions["kinds"], width: number): Line[][] {
  const values = rows.map(([, value]) => value);
  const most = largest(values);
  const shares = percents(values);
  return rows.map(([word, value], at) => [
    [span(word, kindStyle(word))],
    [count(value)],
    [span(shares[at]!, "gray")],
    gauge(value / most, Math.min(maxGaugeWidth, width - 28), kindStyle(word)),
  ]);
}

function gauge(share: number, maxWidth: number, style: Style | undefined): Line {
  return bar([{ value: 1, glyph: "█", style }], { width: Math.max(1, Math.round(share * maxWidth)) });
}

/** The parts are shown only where all of them are known. */
function usageRows({ usage, cost }: ShowReport): Line[][] {
  const kinds = [
    ["input", usage.input, usage.cost.input],
    ["cache read", usage.cacheRead, usage.cost.cacheRead],
    ["cache write", usage.cacheWrite, usage.cost.cacheWrite],
    ["output", usage.output, usage.cost.output],
  ] as const;
  const tokens = kinds.reduce((sum, [, value]) => sum + value, 0);
  const prices = usdColumn(
    kinds.map(([, , part]) => part),
    usage.cost.total,
  );
  const isKnown = isSplit(usage, cost);
  return [
    ...kinds.map(([name, value], at): Line[] => [[name], [count(value)], [isKnown ? prices[at]! : "—"]]),
    [[span("total", "bold")], [span(count(tokens), "bold")], [span(costText(cost), "bold")]],
  ];
}

/** Some programs store what a request cost without its parts, or parts that are not those of the total. */
function isSplit(
  { cost: { input, output, cacheRead, cacheWrite, total } }: Usage,
  { certainty }: KnownCost,
): boolean {
  const difference = Math.abs(input + output + cacheRead + cacheWrite - total);
  return certainty === "known" && difference <= total * SAME_SHARE;
}

/** Sums of many small numbers differ by so much of them. */
const SAME_SHARE = 1e-6;

function* compactionLines(record: CompactionRecord, { width, nowMs }: ShowViewOptions): Generator<Line> {
  yield [];
  const times = record.compactionCount > 1 ? `, the ${ordinal(record.compactionCount)} on this path` : "";
  const title = span("Latest compaction", "bold");
  const when = span(`  ${age(Date.parse(record.lastCompactedAt), nowMs)}${times}`, "gray");
  if (lineWidth([title, when]) <= width) yield [title, when];
  else yield* [[title], [when]];
  yield* paragraph(becameSummary(record), width, undefined, 2);
  yield [`  ${sizeChange(record)}`];
  const { carried, loss } = record;
  const known = { carried: carried ?? undefined, loss: loss ?? undefined };
  yield* lossView(known, { width, indent: 2 });
  yield* summaryExcerpt(record.summary, width);
}

/** A compaction counts the messages of the context; those before an earlier one are in its summary already. */
function becameSummary({ compactedMessageCount: all, summarisedCount }: CompactionRecord): string {
  if (summarisedCount === null || summarisedCount === all) return `Summarised ${counted(all, "message")}:`;
  const news = `Summarised ${counted(summarisedCount, "message")} of the context`;
  return `${news}. With earlier compactions, the summary covers ${count(all)} messages:`;
}

function ordinal(value: number): string {
  const ending =
    value % 100 >= 11 && value % 100 <= 13 ? "th" : ({ 1: "st", 2: "nd", 3: "rd" }[value % 10] ?? "th");
  return `${value}${ending}`;
}

function* problemNotice(report: ShowReport): Generator<Line> {
  yield [];
  yield [
    span("! ", ["bold", "yellow"]),
    `This file has ${counted(report.problemCount, "problem")}. Run `,
    span(`bonsai session doctor ${oneLine(report.file)}`, "cyan"),
  ];
}
