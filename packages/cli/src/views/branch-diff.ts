import { branchDiff, type CompactionSettings, readContext } from "@bonsai-agent/compaction";
import { branchWords } from "@bonsai-agent/compaction/host";
import { contextTokens, costPhrase, knownUsd, SecretFilter } from "@bonsai-agent/messages";
import type { LinePart } from "@bonsai-agent/messages/numbers";
import { type Entry, entryParts, type Session } from "@bonsai-agent/session";
import { excerpt, fitLine, kindStyle, type Line, marked, paragraph, type Span, span } from "./line.ts";
import { age, count, counted, duration, tokensText } from "./numbers.ts";
import { callIn, fitPreview, kindOf, previewSpan, previewText } from "./preview.ts";
import { FactCounter, type IsFree } from "./session-facts.ts";
import { oneLine, truncate, wrap } from "./terminal-text.ts";

type BranchSide = ReturnType<typeof branchDiff>["a"];

/** The JSON of `bonsai session diff`. */
export type BranchDiffReport = ReturnType<typeof branchDiffReport>;
type BranchSideReport = ReturnType<typeof sideReport>;
type PlaceReport = ReturnType<typeof placeOf>;

interface BranchDiffReportOptions {
  session: Session;
  settings: CompactionSettings;
  a: string | null;
  b: string | null;
  isFree: IsFree;
  /** Default: redacts nothing. */
  secrets?: SecretFilter;
}

const noSecrets = new SecretFilter([], false);

/** Compares two positions of a session. @throws BonsaiError `tree_target_unknown` */
export function branchDiffReport(options: BranchDiffReportOptions) {
  const { session, secrets = noSecrets } = options;
  const { commonAncestor, a, b, ...diff } = branchDiff(options);
  return secrets.value({
    relation: diff.relation,
    commonAncestor: commonAncestor && placeOf(session, commonAncestor, secrets),
    commonEntries: diff.commonEntries,
    a: sideReport(a, options),
    b: sideReport(b, options),
    sharedFiles: diff.sharedFiles,
  });
}

function sideReport(
  side: BranchSide,
  { session, settings, isFree, secrets = noSecrets }: BranchDiffReportOptions,
) {
  const { leafId, entries, ...done } = side;
  const counter = new FactCounter();
  for (const entry of entries) counter.add(entry);
  const { firstActivity, lastActivity, usage, cost: sum } = counter.facts();
  const cost = sum.cost(isFree);
  const leaf = leafId === null ? undefined : session.entry(leafId);
  const { tokens, source } = readContext({ session, estimator: settings.estimator, leafId });
  return {
    leaf: leaf === undefined ? null : placeOf(session, leaf, secrets),
    entryIds: entries.map(({ id }) => id),
    firstActivity,
    lastActivity,
    usage,
    costUsd: knownUsd(cost),
    cost,
    context: { tokens, isEstimate: source === "estimate" },
    ...done,
  };
}

function placeOf(session: Session, entry: Entry, secrets: SecretFilter) {
  const label = session.label(entry.id);
  return {
    entryId: entry.id,
    kind: kindOf(entry),
    preview: previewText(entryParts(secrets.value(entry), secrets.value(callIn(session, entry))), 200),
    ...(label !== undefined && { label }),
    timestamp: entry.timestamp,
  };
}

interface BranchDiffViewOptions {
  report: BranchDiffReport;
  width: number;
  nowMs: number;
}

/** The common part of two positions, then the work on each side. */
export function* branchDiffView(options: BranchDiffViewOptions): Generator<Line> {
  yield* commonLines(options);
  if (options.report.relation === "same") return;
  for (const name of ["a", "b"] as const) yield* [[], ...sideLines(name, options)];
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

/** A text whose paths lose their first folders if space is short. */
function pathParts(text: string): LinePart[] {
  const words = oneLine(text, 400).split(/(\S+)/);
  return words.map((word) => ({ text: word, isPath: PATH.test(word) }));
}

/** Not a URL, and not quoted. */
const PATH = /^[\w.@~+-]*(?:\/[\w.@~+-]+)+$/;

function sideLines(name: "a" | "b", { report, width, nowMs }: BranchDiffViewOptions): Line[] {
  const side = report[name];
  const place: Line = side.leaf === null ? ["the beginning"] : placeSpans(side.leaf);
  const title = fitLine([span(`${name.toUpperCase()}  `, ["bold", "cyan"]), ...place], width);
  if (side.entryIds.length === 0) return [title, [span("No entries of its own.", "gray")]];
  return [
    title,
    ...factLines(side, width, nowMs),
    ...section("Files", fileLines(side, { shared: report.sharedFiles, width })),
    ...section("Commands", commandLines(side, width)),
    ...section("User messages", wordLines(side, width)),
    ...section("Compactions and summaries", summaryLines(side, width)),
    ...section("Last answer", answerLines(side, width)),
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

const MAX_FILES = 12;
const MAX_COMMANDS = 12;
const MAX_WORDS = 8;
const MAX_ANSWER_LINES = 8;

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
  return bounded(lines, MAX_FILES, "file");
}

const stateMarks = {
  passed: span("  ✓ ", "green"),
  failed: span("  ✗ ", "red"),
  aborted: span("  ■ ", "gray"),
  refused: span("  ■ ", "gray"),
} as const;

/** Commands that only read are counted, unless they failed. */
function commandLines({ commands }: BranchSideReport, width: number): Line[] {
  const told = commands.filter(({ isLookup, state }) => !isLookup || state === "failed");
  const lines = told.map(({ command, state, line }): Line => {
    const why = line === undefined ? [] : [span(`  ${line}`, "red")];
    return fitLine([stateMarks[state], previewSpan(pathParts(command)), ...why], width);
  });
  const lookups = commands.length - told.length;
  if (lookups === 0) return bounded(lines, MAX_COMMANDS, "command");
  const rest = `  ${lines.length === 0 ? "" : "and "}${counted(lookups, "command")} that changed nothing`;
  return [...bounded(lines, MAX_COMMANDS, "command"), [span(rest, "gray")]];
}

function wordLines({ words: { said, leftOut } }: BranchSideReport, width: number): Line[] {
  const lines = said.slice(-MAX_WORDS).flatMap(({ text }) => {
    const [first = "", ...others] = wrap(oneLine(text, 2_000), width - 4);
    const second = others.length > 1 ? truncate(`${others[0]} …`, width - 4) : others[0];
    return marked(span("  › ", "cyan"), second === undefined ? [first] : [first, second]);
  });
  const hidden = leftOut + Math.max(0, said.length - MAX_WORDS);
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
  const { text } = lastAnswer ?? { text: "" };
  return text === "" ? [] : excerpt(text, { width, maxLines: MAX_ANSWER_LINES, style: "green" });
}

function bounded(lines: Line[], most: number, noun: string): Line[] {
  const rest = lines.length - most;
  if (rest <= 0) return lines;
  return [...lines.slice(0, most), [span(`    and ${counted(rest, noun)} more`, "gray")]];
}
