import { branchWords } from "@bonsai-agent/compaction/host";
import { contextTokens, costPhrase } from "@bonsai-agent/messages";
import type { LinePart } from "@bonsai-agent/messages/numbers";
import type { BranchDiffReport, BranchSideReport, PlaceReport } from "./branch-diff-report.ts";
import { fitLine, kindStyle, type Line, lineWidth, marked, paragraph, type Span, span } from "./line.ts";
import { age, count, counted, duration, tokensText } from "./numbers.ts";
import { fitPreview, previewSpan } from "./preview.ts";
import { oneLine, printableLines, truncate, wrap } from "./terminal-text.ts";

interface BranchDiffViewOptions {
  report: BranchDiffReport;
  width: number;
  nowMs: number;
}

/** From so many columns on, the sides stand beside each other. */
const COLUMNS_BESIDE = 120;
const BETWEEN = " │ ";

/** Where two places part, then what was done on each side: beside each other where there is room, else below. */
export function* branchDiffView(options: BranchDiffViewOptions): Generator<Line> {
  const { report, width } = options;
  yield* commonLines(options);
  if (report.relation === "same") return;
  const isBeside = width >= COLUMNS_BESIDE;
  const columns = isBeside ? Math.floor((width - BETWEEN.length) / 2) : width;
  const [a, b] = (["a", "b"] as const).map((name) => sideSections(name, columns, options));
  yield [];
  if (isBeside) yield* beside(a!, b!, columns);
  else yield* [...joined(a!), [], ...joined(b!)];
}

function* commonLines({ report, width, nowMs }: BranchDiffViewOptions): Generator<Line> {
  const { commonAncestor: ancestor, commonEntries } = report;
  yield* paragraph(relationWords(report), width, "bold");
  if (ancestor === null) return;
  const when = age(Date.parse(ancestor.timestamp), nowMs);
  yield fitLine([span("  common   ", "gray"), `${counted(commonEntries, "entry", "entries")}, up to`], width);
  yield fitLine([span("           ", "gray"), ...placeSpans(ancestor), span(`  ${when}`, "gray")], width);
}

function relationWords({ relation, a, b, commonAncestor }: BranchDiffReport): string {
  const [first, second] = [a, b].map(({ leaf }) => leaf?.entryId ?? "the beginning");
  switch (relation) {
    case "same":
      return `A and B are the same entry: ${first}.`;
    case "ahead":
      return `A continues from B: ${second} is on the path to ${first}. B has no entries of its own.`;
    case "behind":
      return `B continues from A: ${first} is on the path to ${second}. A has no entries of its own.`;
    case "unrelated":
      return "A and B have no common entry: they start from different roots.";
    default:
      return `A and B split after ${commonAncestor?.entryId ?? "the beginning"}.`;
  }
}

function placeSpans({ entryId, kind, label, preview }: PlaceReport): Line {
  return [
    span(entryId, "bold"),
    " ",
    span(kind, kindStyle(kind)),
    " ",
    ...(label === undefined ? [] : [span(`[${label}] `, "yellow")]),
    previewSpan(pathParts(preview)),
  ];
}

/** A text whose paths give way from their beginning where space is short. */
function pathParts(text: string): LinePart[] {
  const words = oneLine(text, 400).split(/(\S+)/);
  return words.map((word) => ({ text: word, isPath: PATH.test(word) }));
}

/** No address, and nothing in quotes. */
const PATH = /^[\w.@~+-]*(?:\/[\w.@~+-]+)+$/;

/** The lines of each section; the sections of both sides are the same. */
function sideSections(name: "a" | "b", width: number, { report, nowMs }: BranchDiffViewOptions): Line[][] {
  const side = report[name];
  const place: Line = side.leaf === null ? ["the beginning"] : placeSpans(side.leaf);
  const title = fitLine([span(`${name.toUpperCase()}  `, ["bold", "cyan"]), ...place], width);
  if (side.entryIds.length === 0) return [[title], [[span("No entries of its own.", "gray")]]];
  return [
    [title],
    factLines(side, width, nowMs),
    section("Files", fileLines(side, { shared: report.sharedFiles, width })),
    section("Commands", commandLines(side, width)),
    section("User messages", wordLines(side, width)),
    section("Compactions and summaries", summaryLines(side, width)),
    section("Last answer", answerLines(side, width)),
  ];
}

function section(title: string, lines: Line[]): Line[] {
  return lines.length === 0 ? [] : [[], [span(title, "bold")], ...lines];
}

function factLines(side: BranchSideReport, width: number, nowMs: number): Line[] {
  const { firstActivity, lastActivity, usage, cost, context, turns } = side;
  const lastMs = Date.parse(lastActivity ?? "");
  const lengthMs = lastMs - Date.parse(firstActivity ?? "");
  const when =
    lastActivity === null
      ? ""
      : `, ${age(lastMs, nowMs)}${lengthMs > 0 ? `, for ${duration(lengthMs)}` : ""}`;
  return [
    `${counted(side.entryIds.length, "entry", "entries")}, ${counted(turns, "turn")}${when}`,
    contextTokens(usage) === 0 && cost.certainty === "known"
      ? "no model requests"
      : `${count(contextTokens(usage) - usage.output)} tokens in, ${count(usage.output)} out, ${costPhrase(cost)}`,
    `context at the end ${tokensText(context.tokens, context.isEstimate)}`,
  ].flatMap((text) => paragraph(text, width, undefined, 2));
}

const MOST_FILES = 12;
const MOST_COMMANDS = 12;
const MOST_WORDS = 8;
const MOST_ANSWER_LINES = 8;

function fileLines(
  { files: { created, modified, read } }: BranchSideReport,
  { shared, width }: { shared: readonly string[]; width: number },
): Line[] {
  const both = new Set(shared);
  const named = (files: readonly string[], mark: Span) =>
    files.map((file): Line => {
      const end = both.has(file) ? "  both" : "";
      return [mark, fitPreview([{ text: file, isPath: true }], width - 4 - end.length), span(end, "yellow")];
    });
  const lines = [
    ...named(created, span("  + ", "green")),
    ...named(modified, span("  ~ ", "yellow")),
    ...named(read, span("    ", "gray")),
  ];
  return bounded(lines, MOST_FILES, "file");
}

const stateMarks = {
  passed: span("  ✓ ", "green"),
  failed: span("  ✗ ", "red"),
  aborted: span("  ■ ", "gray"),
} as const;

/** What only looked is counted, unless it failed. */
function commandLines({ commands }: BranchSideReport, width: number): Line[] {
  const told = commands.filter(({ isLookup, state }) => !isLookup || state === "failed");
  const lines = told.map(({ command, state, line }): Line => {
    const why = line === undefined ? [] : [span(`  ${line}`, "red")];
    return fitLine([stateMarks[state], previewSpan(pathParts(command)), ...why], width);
  });
  const lookups = commands.length - told.length;
  if (lookups === 0) return bounded(lines, MOST_COMMANDS, "command");
  const rest = `  ${lines.length === 0 ? "" : "and "}${counted(lookups, "command")} that changed nothing`;
  return [...bounded(lines, MOST_COMMANDS, "command"), [span(rest, "gray")]];
}

function wordLines({ words: { said, leftOut } }: BranchSideReport, width: number): Line[] {
  const lines = said.slice(-MOST_WORDS).flatMap(({ text }) => {
    const [first = "", ...others] = wrap(oneLine(text, 2_000), width - 4);
    const second = others.length > 1 ? truncate(`${others[0]} …`, width - 4) : others[0];
    return marked(span("  › ", "cyan"), second === undefined ? [first] : [first, second]);
  });
  const hidden = leftOut + Math.max(0, said.length - MOST_WORDS);
  return hidden === 0 ? lines : [[span(`  ${counted(hidden, "earlier message")}`, "gray")], ...lines];
}

function summaryLines({ compactions, branchSummaries }: BranchSideReport, width: number): Line[] {
  const lines = [
    ...compactions.map(({ entryId, tokensBefore, tokensAfter, isUndone }): Line => {
      const after = tokensAfter === undefined ? "" : ` → ${count(tokensAfter)}`;
      const undone = isUndone ? [span(" undone", "yellow")] : [];
      const sizes = `${count(tokensBefore)}${after} tokens`;
      return [span(`  ${entryId} `, "bold"), span("compaction ", "magenta"), sizes, ...undone];
    }),
    ...branchSummaries.map(
      ({ entryId, ...branch }): Line => [
        span(`  ${entryId} `, "bold"),
        span("summary ", "magenta"),
        `of ${branchWords(branch)}`,
      ],
    ),
  ];
  return lines.map((line) => fitLine(line, width));
}

function answerLines({ lastAnswer }: BranchSideReport, width: number): Line[] {
  if (lastAnswer === undefined) return [];
  const lines = printableLines(lastAnswer.text).flatMap((line) => wrap(line, width - 4));
  const shown = lines.slice(0, MOST_ANSWER_LINES).map((line): Line => [span("  │ ", "green"), line]);
  const rest = lines.length - shown.length;
  return rest === 0 ? shown : [...shown, [span(`  │ … and ${counted(rest, "line")} more`, "gray")]];
}

function bounded(lines: Line[], most: number, noun: string): Line[] {
  const rest = lines.length - most;
  if (rest <= 0) return lines;
  return [...lines.slice(0, most), [span(`    and ${counted(rest, `${noun}`)} more`, "gray")]];
}

function joined(sections: readonly Line[][]): Line[] {
  return sections.flat();
}

/** Sections begin on the same line on both sides. */
function* beside(a: readonly Line[][], b: readonly Line[][], columns: number): Generator<Line> {
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const [left, right] = [a[at] ?? [], b[at] ?? []];
    for (let row = 0; row < Math.max(left.length, right.length); row += 1) {
      const first = fitLine(left[row] ?? [], columns);
      const blank = " ".repeat(columns - lineWidth(first));
      yield [...first, blank, span(BETWEEN, "gray"), ...(right[row] ?? [])];
    }
  }
}
