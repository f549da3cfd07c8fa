import { basename, dirname, join } from "node:path";
import { type BarPart, bar, kindStyle, type Line, type Style, span, table } from "@bonsai-agent/app/line";
import { count, counted, percent, percents, sizeSource, wholeShares } from "@bonsai-agent/app/numbers";
import { wrap } from "@bonsai-agent/app/terminal-text";
import type { SlashCommand } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";
import { showReport } from "../panels/report-panel.ts";
import { isRough } from "../status/footer-source.ts";
import { type ContextPart, type ContextReport, type ContextWindow, contextReport } from "./context-report.ts";

export const contextCommand: SlashCommand = {
  name: "context",
  description: "Show where the tokens of the context are",
  worksWhileBusy: true,
  async run(_args, { host: { agent, app }, screen }) {
    const report = contextReport({
      session: agent.session,
      systemPrompt: agent.systemPrompt,
      tools: agent.tools.declarations(),
      settings: app.settings.compaction,
      model: isNoModel(agent.model) ? noSizes : agent.model,
    });
    await showReport(screen, (width) => contextReportView(report, width));
  },
};

/** Where there is no model yet, nobody knows its window. */
const noSizes = { contextWindow: 0, maxOutputTokens: 0 };

/** Below, what can be missed is left out. */
const WIDE_COLUMNS = 60;
const MAX_BAR_COLUMNS = 100;

interface Row {
  name: string;
  tokens: number;
  glyph: string;
  style: Style | undefined;
  note: string;
}

/** Where the tokens of the next request are: a bar, a table and the largest messages. */
export function* contextReportView(report: ContextReport, width: number): Generator<Line> {
  const { totalTokens, window } = report;
  yield* wrap(headline(report), width).map((line) => [span(line, "bold")]);
  const used = report.parts.map(partRow);
  const rows = [...used, ...unexplainedRow(report)];
  const left = window === undefined ? [] : windowRows(window);
  const barParts = [...rows, ...left].map(
    ({ tokens, glyph, style }): BarPart => ({ value: tokens, glyph, style }),
  );
  if (totalTokens > 0 || window !== undefined)
    yield bar(barParts, { width: Math.min(width, MAX_BAR_COLUMNS) });
  yield [];
  const note = sizeSource(report);
  const total: Row = { name: "in all", tokens: totalTokens, glyph: " ", style: "bold", note };
  const outer = [totalTokens, ...left.map(({ tokens }) => tokens)];
  const [all = "", ...others] = percents(outer);
  const shares = percents(
    rows.map(({ tokens }) => tokens),
    wholeShares(outer)[0],
  );
  yield* rowTable([...rows, total, ...left], [...shares, all, ...others], width);
  yield* window === undefined ? [] : thresholdLines(window, totalTokens, width);
  if (report.largest.length > 0) yield* largestTable(report, width);
}

function headline({ totalTokens, estimatedTokens, window }: ContextReport): string {
  const mark = isRough({ tokens: totalTokens, estimatedTokens }) ? "~" : "";
  const tokens = `${mark}${count(totalTokens)}`;
  if (window === undefined) return `Context: ${tokens} tokens; the model's window is unknown`;
  return `Context: ${tokens} of ${counted(window.windowTokens, "token")} (${percent(totalTokens, window.windowTokens)})`;
}

const labels: Readonly<Record<string, string>> = {
  branch: "branch summaries",
  user: "user messages",
  assistant: "answers",
  result: "tool results",
  command: "commands",
};

const glyphs: Readonly<Record<string, string>> = {
  "system prompt": "█",
  instructions: "▓",
  tools: "▒",
  summary: "░",
  branch: "▤",
  user: "▚",
  assistant: "▞",
  result: "▦",
  command: "▥",
  extension: "▧",
};

function partRow(part: ContextPart): Row {
  const { name, tokens } = part;
  const glyph = glyphs[name] ?? "▩";
  return { name: labels[name] ?? name, tokens, glyph, style: kindStyle(name), note: noteOf(part) };
}

function noteOf({ name, items, maskedItems, files }: ContextPart): string {
  if (name === "system prompt" || name === "summary") return "";
  if (files !== undefined)
    return files.map((file) => join(basename(dirname(file)), basename(file))).join(", ");
  return maskedItems === 0 ? count(items) : `${count(items)}, ${count(maskedItems)} of them masked`;
}

function unexplainedRow({ unexplainedTokens: tokens, isEstimate }: ContextReport): Row[] {
  if (tokens <= 0) return [];
  const note = isEstimate ? "learned from earlier answers" : "reported beyond these estimates";
  return [{ tokens, style: "gray", name: "not accounted for", glyph: "▪", note }];
}

function windowRows({ freeTokens, reserveTokens, thresholdTokens }: ContextWindow): Row[] {
  const free = { name: "free", tokens: freeTokens, glyph: "·", style: "gray", note: "" } as const;
  if (thresholdTokens === undefined) return [free];
  return [
    { ...free, note: "before compaction begins" },
    { name: "reserve", tokens: reserveTokens, glyph: "×", style: "gray", note: "kept free by compaction" },
  ];
}

function rowTable(rows: readonly Row[], shares: readonly string[], width: number): Iterable<Line> {
  const cells = rows.map(({ name, tokens, glyph, style, note }, at): Line[] => [
    [span(glyph, style)],
    [span(name, name === "in all" ? "bold" : undefined)],
    [count(tokens)],
    [shares[at]!],
    [span(width < WIDE_COLUMNS ? "" : note, "gray")],
  ]);
  const columns = [{}, { flexible: true }, { align: "right" }, { align: "right" }, {}] as const;
  return table(cells, { columns: width < WIDE_COLUMNS ? columns.slice(0, 4) : columns, width });
}

function* thresholdLines(window: ContextWindow, totalTokens: number, width: number): Generator<Line> {
  yield [];
  for (const text of wrap(thresholdText(window, totalTokens), width)) yield [span(text, "gray")];
}

function thresholdText({ thresholdTokens, windowTokens }: ContextWindow, totalTokens: number): string {
  if (totalTokens > windowTokens)
    return "This is more than the window holds: /compact, or choose a larger model.";
  if (thresholdTokens === undefined) return "Automatic compaction is off; /compact works.";
  const limit = counted(thresholdTokens, "token");
  if (totalTokens > thresholdTokens) return `Above ${limit}: compaction begins with the next request.`;
  return `Compaction begins above ${limit}.`;
}

function* largestTable({ largest }: ContextReport, width: number): Generator<Line> {
  yield [];
  yield [span(largest.length === 1 ? "The largest message" : "The largest messages", "bold")];
  const isWide = width >= WIDE_COLUMNS;
  const rows = largest.map(({ entryId, kind, tokens, preview }): Line[] => [
    [count(tokens)],
    [span(kind, kindStyle(kind))],
    ...(isWide ? [[span(entryId, "gray")]] : []),
    [preview],
  ]);
  const columns = [{ align: "right" }, {}, ...(isWide ? [{}] : []), { flexible: true }] as const;
  yield* table(rows, { columns, width });
}
