import { basename, dirname, join } from "node:path";
import { messageParts } from "@bonsai-agent/session";
import type { ContextItem, ContextPart, ContextReport, ContextWindow } from "./context-report.ts";
import { type BarPart, bar, kindStyle, type Line, paragraph, type Style, span, table } from "./line.ts";
import {
  count,
  hasEstimate,
  percent,
  percents,
  scopeText,
  sizeSource,
  tokenDigits,
  tokensText,
} from "./numbers.ts";
import { callsOf, kindWord, previewSpan } from "./preview.ts";
import { wrap } from "./terminal-text.ts";

/** Narrower screens show fewer columns. */
const WIDE_COLUMNS = 60;
const MAX_BAR_COLUMNS = 100;
const MAX_LARGEST = 10;

interface Row {
  name: string;
  tokens: number;
  isEstimate: boolean;
  glyph: string;
  style: Style | undefined;
  note: string;
}

/** The parts of the next request: a bar, a table and the largest messages. */
export function* contextReportView(
  report: ContextReport,
  width: number,
  { largest = MAX_LARGEST } = {},
): Generator<Line> {
  const { totalTokens, window } = report;
  yield* wrap(headline(report), width).map((line) => [span(line, "bold")]);
  const used = report.parts.map(partRow);
  const rows = [...used, ...unexplainedRow(report)];
  const left = windowRows(report);
  const barParts = [...rows, ...left].map(
    ({ tokens, glyph, style }): BarPart => ({ value: tokens, glyph, style }),
  );
  if (totalTokens > 0 || window !== undefined) yield bar(barParts, Math.min(width, MAX_BAR_COLUMNS));
  yield [];
  yield* rowTable([...rows, totalRow(report), ...left], sharesOf(report, rows, left), width);
  const scope = scopeText({
    fixedTokens: report.hasOverhead ? 1 : report.unexplainedTokens,
    isEstimate: report.isEstimate,
  });
  if (scope !== undefined && totalTokens > 0) yield* paragraph(scope, width, "gray");
  yield* window === undefined ? [] : thresholdLines(window, totalTokens, width);
  if (report.items.length > 0 && largest > 0) yield* largestTable(report.items, largest, width);
}

/** The shares of the parts add up to that of the total, and with the free space to 100%. */
function sharesOf(
  { totalTokens, window }: ContextReport,
  rows: readonly Row[],
  left: readonly Row[],
): string[] {
  const whole = window?.windowTokens ?? totalTokens;
  const used = whole === 0 ? 0 : Math.round((totalTokens / whole) * 100);
  const tokensOf = (some: readonly Row[]) => some.map(({ tokens }) => tokens);
  const free = percents(tokensOf(left), Math.max(0, 100 - used));
  return [...percents(tokensOf(rows), used), percent(totalTokens, whole), ...free];
}

function headline(report: ContextReport): string {
  const { totalTokens, window } = report;
  const isEstimate = hasEstimate(report);
  if (window === undefined) return `Context: ${tokensText(totalTokens, isEstimate)}, window unknown`;
  const { windowTokens } = window;
  const ofWindow = `${tokenDigits(totalTokens, isEstimate)} of ${tokensText(windowTokens, false)}`;
  return `Context: ${ofWindow} (${percent(totalTokens, windowTokens)})`;
}

function totalRow(report: ContextReport): Row {
  const { totalTokens: tokens, estimatedTokens, isEstimate } = report;
  const note = sizeSource({ tokens, estimatedTokens, isEstimate });
  return { name: "total", tokens, isEstimate: hasEstimate(report), glyph: " ", style: "bold", note };
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
  return {
    name: labels[name] ?? name,
    tokens,
    isEstimate: true,
    glyph,
    style: kindStyle(name),
    note: noteOf(part),
  };
}

function noteOf({ name, items, maskedItems, files, hasSealedSummary }: ContextPart): string {
  if (hasSealedSummary) return "the model also sees a sealed summary";
  if (name === "system prompt" || name === "summary") return "";
  if (files !== undefined)
    return files.map((file) => join(basename(dirname(file)), basename(file))).join(", ");
  return maskedItems === 0 ? count(items) : `${count(items)}, ${count(maskedItems)} masked`;
}

function unexplainedRow({ unexplainedTokens: tokens, ...report }: ContextReport): Row[] {
  if (tokens <= 0) return [];
  const known = report.isEstimate ? "measured from earlier answers" : "difference from the provider's count";
  const [name, note] = report.hasOverhead
    ? ["other", known]
    : ["prompt and tools", "including estimation errors"];
  return [{ tokens, isEstimate: true, style: "gray", name, glyph: "▪", note }];
}

function windowRows({ window, ...report }: ContextReport): Row[] {
  if (window === undefined) return [];
  const { freeTokens, reserveTokens, thresholdTokens } = window;
  // The reserve depends on the estimated context only if the context is above the threshold.
  const isReserveUsed = freeTokens === 0;
  const free = {
    name: "free",
    tokens: freeTokens,
    isEstimate: !isReserveUsed && hasEstimate(report),
    glyph: "·",
    style: "gray",
    note: "",
  } as const;
  if (thresholdTokens === undefined) return [free];
  return [
    { ...free, note: "before compaction starts" },
    {
      name: "reserve",
      tokens: reserveTokens,
      isEstimate: isReserveUsed && reserveTokens > 0 && hasEstimate(report),
      glyph: "×",
      style: "gray",
      note: "kept free for the answer",
    },
  ];
}

function rowTable(rows: readonly Row[], shares: readonly string[], width: number): Iterable<Line> {
  const cells = rows.map(({ name, tokens, isEstimate, glyph, style, note }, at): Line[] => [
    [span(glyph, style)],
    [span(name, name === "total" ? "bold" : undefined)],
    [tokenDigits(tokens, isEstimate)],
    [shares[at]!],
    [span(width < WIDE_COLUMNS ? "" : note, "gray")],
  ]);
  const columns = [{}, { flexible: true }, { align: "right" }, { align: "right" }, {}] as const;
  return table(cells, { columns: width < WIDE_COLUMNS ? columns.slice(0, 4) : columns, width });
}

function* thresholdLines(window: ContextWindow, totalTokens: number, width: number): Generator<Line> {
  yield [];
  const economy = window.economy === undefined ? [] : [`Economy: ${window.economy}.`];
  for (const line of [thresholdText(window, totalTokens), ...economy])
    for (const text of wrap(line, width)) yield [span(text, "gray")];
}

function thresholdText({ thresholdTokens, windowTokens }: ContextWindow, totalTokens: number): string {
  if (totalTokens > windowTokens)
    return "The context is larger than the window. Run /compact or choose a larger model with /model.";
  if (thresholdTokens === undefined) return "Automatic compaction is off. Run /compact to compact.";
  const limit = tokensText(thresholdTokens, false);
  if (totalTokens > thresholdTokens)
    return `The context is above ${limit}. The next request compacts it first.`;
  return `Compaction starts above ${limit}.`;
}

function* largestTable(items: readonly ContextItem[], count: number, width: number): Generator<Line> {
  const largest = items.toSorted((one, other) => other.tokens - one.tokens).slice(0, count);
  yield [];
  yield [span(largest.length === 1 ? "Largest message" : "Largest messages", "bold")];
  yield* contextItemTable(largest, width, items);
}

/** The messages, each with its size. Draws long contexts row by row. @param all the messages with the calls of results */
export function contextItemTable(
  items: readonly ContextItem[],
  width: number,
  all: readonly ContextItem[] = items,
): Iterable<Line> {
  const isWide = width >= WIDE_COLUMNS;
  const calls = callsOf(all.map(({ message }) => message));
  const callOf = new Map(all.map((item, at) => [item, calls[at]]));
  const cellsOf = (item: ContextItem): Line[] => {
    const kind = kindWord(item.role);
    const parts = messageParts(item.message, callOf.get(item));
    return [
      ...(isWide ? [[span(item.entryId, "gray")]] : []),
      [tokenDigits(item.tokens, true)],
      [span(kind, kindStyle(kind))],
      [previewSpan(parts, kind === "result" ? "gray" : undefined)],
    ];
  };
  const rows = {
    *[Symbol.iterator]() {
      for (const item of items) yield cellsOf(item);
    },
  };
  const columns = [...(isWide ? [{}] : []), { align: "right" }, {}, { flexible: true }] as const;
  return table(rows, { columns, width });
}
