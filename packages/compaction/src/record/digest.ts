import { estimateTokens } from "@bonsai-agent/messages";
import { counted } from "@bonsai-agent/messages/numbers";
import type { SpanRecord } from "../details.ts";
import { newestLines, outcomeLine } from "./outcomes.ts";
import { clippedTexts, reportShape } from "./sentence.ts";
import {
  clippedClosings,
  clippedWords,
  closingLine,
  lastAnswer,
  otherClosings,
  wordLines,
} from "./statements.ts";

interface DigestOptions {
  record: SpanRecord;
  /** The earlier summary, whether a model wrote it or it is a digest. Default: none. */
  earlierSummary?: string | undefined;
  /** Summaries of branches that the span contains, oldest first. Default: none. */
  branchSummaries?: readonly string[] | undefined;
  /** The topic that the user asked for. Default: none. */
  focus?: string | undefined;
  /** True if the context shows the user's words beside the digest; otherwise the digest quotes them. Default: false. */
  carriesUserWords?: boolean | undefined;
  /** Upper bound of the digest, in tokens. */
  maxTokens: number;
}

const INTRODUCTION =
  "[This extract was made without a model. It quotes the session, oldest first, and draws no conclusions. Brackets name the entry of a line.]";
const EARLIER = "## Earlier summary";
const BRANCH = "# Summary of another branch";
/** The level of plain text, below every heading. */
const TEXT_LEVEL = 7;

/** Upper bound of each part, as a share of the tokens left when the part is added. */
const SHARES = { irreversible: 0.3, failing: 0.5, todos: 0.6, standing: 0.6, earlier: 0.6, words: 0.7 };

/** Builds a summary from quotes and records. The same record gives the same digest. Never returns an empty text. */
export function digestText(options: DigestOptions): string {
  let { maxTokens } = options;
  for (;;) {
    const text = textWithin({ ...options, maxTokens });
    // The final text adds headings, counts and omission marks, so shrink the budget until everything fits.
    const over = estimateTokens(text) - options.maxTokens;
    if (over <= 0 || maxTokens <= 0) return text;
    maxTokens -= over;
  }
}

/** Returns about `maxTokens` tokens at most. */
function textWithin(options: DigestOptions): string {
  const { record, earlierSummary = "", branchSummaries = [], maxTokens, focus } = options;
  const { failing, irreversible, openTodos } = record.outcomes;
  const budget = new Budget(maxTokens - estimateTokens(INTRODUCTION) - HEADINGS_TOKENS);
  const undone = budget.newest(irreversible.map(outcomeLine), SHARES.irreversible);
  const failed = budget.newest(failing.map(outcomeLine), SHARES.failing);
  const todos = budget.newest(openTodos.map(outcomeLine), SHARES.todos);
  const standing = budget.take(standingLines(record, budget.left * SHARES.standing, focus));
  const notes = [notesOf(earlierSummary), ...branchSummaries.map((summary) => branchNotes(summary, record))];
  const earlier = budget.take(clippedNotes(notes.join("\n"), budget.left * SHARES.earlier));
  const said = options.carriesUserWords ? [] : conversationLines(record, budget.left, focus);
  const parts = [
    section(EARLIER, earlier),
    section("## Conversation", said),
    section("## Irreversible commands", undone),
    section("## Failing commands", failed),
    section("## Open to-dos", todos),
    section("## Last answer", standing),
  ].filter((part) => part !== "");
  return [INTRODUCTION, ...(parts.length === 0 ? [countsOf(record)] : parts)].join("\n\n");
}

function conversationLines({ words, closings }: SpanRecord, maxTokens: number, focus?: string): string[] {
  const said = clippedWords(words, { maxTokens: maxTokens * SHARES.words, focus });
  const left = maxTokens - estimateTokens(wordLines(said).join("\n"));
  return wordLines(said, { closings: otherClosings(closings, { maxTokens: left, focus }) });
}

/** The last answer, clipped to `maxTokens`. */
function standingLines({ closings }: SpanRecord, maxTokens: number, focus?: string): string[] {
  const last = lastAnswer(closings);
  if (last === undefined) return [];
  return clippedClosings([{ ...last, isInterim: false }], { maxTokens, focus }).map(closingLine);
}

const HEADINGS_TOKENS = 60;

/** Counts the tokens left for the next parts. */
class Budget {
  left: number;

  constructor(tokens: number) {
    this.left = Math.max(0, tokens);
  }

  /** The newest lines that fit into a share of the tokens left, after a line with the number of omitted ones. */
  newest(lines: readonly string[], share: number): string[] {
    const kept = newestLines(lines, this.left * share);
    const leftOut = lines.length - kept.length;
    return this.take(leftOut === 0 ? kept : [`(${counted(leftOut, "earlier line")} left out.)`, ...kept]);
  }

  take(lines: readonly string[]): string[] {
    this.left = Math.max(0, this.left - lines.reduce((sum, line) => sum + estimateTokens(line) + 1, 0));
    return [...lines];
  }
}

/** True for a text from {@link digestText}. */
export function isDigest(text: string): boolean {
  return text.startsWith(INTRODUCTION);
}

function section(heading: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : `${heading}\n${lines.join("\n")}`;
}

function countsOf({ turns, terms }: SpanRecord): string {
  return `Summarised: ${counted(terms.messages, "message")}, ${turns} of them from the user.`;
}

/** The notes of an earlier summary. A digest contributes only its earlier notes: the record contains the rest. */
function notesOf(summary: string): string {
  return isDigest(summary) ? notesIn(summary) : summary;
}

/** The notes of a branch summary. A digest contributes everything if the record does not contain its branch. */
function branchNotes(summary: string, { words, closings }: SpanRecord): string {
  const isRecorded = [...words.said, ...closings].some(({ isOnBranch }) => isOnBranch);
  const notes = isRecorded ? notesOf(summary) : summary.replace(INTRODUCTION, "");
  return notes.trim() === "" ? "" : `${BRANCH}\n${notes}`;
}

/** Keeps the lines that fit, and drops headings without lines. */
function clippedNotes(notes: string, maxTokens: number): string[] {
  const lines = notes.split("\n").filter((line) => line.trim() !== "");
  const said = lines.map((line) => (isHeading(line) ? "" : line));
  const options = { maxTokens, tokensBeside: () => 1, recency: 0, shapeOf: reportShape };
  const kept = clippedTexts(said, options);
  const shown: string[] = [];
  let levelBelow = 0;
  for (let at = lines.length - 1; at >= 0; at--) {
    const line = lines[at]!;
    const text = isHeading(line) ? `**${line.replace(/^#+\s*/, "")}**` : kept[at];
    const level = isHeading(line) ? line.search(/[^#]/) : TEXT_LEVEL;
    if (text === undefined || (level < TEXT_LEVEL && level >= levelBelow)) continue;
    shown.push(text);
    levelBelow = level;
  }
  return shown.reverse();
}

function notesIn(digest: string): string {
  const at = digest.indexOf(`\n${EARLIER}\n`);
  if (at < 0) return "";
  const [notes = ""] = digest.slice(at + EARLIER.length + 2).split("\n## ", 1);
  return notes;
}

function isHeading(line: string): boolean {
  return /^#{1,6}\s/.test(line);
}
