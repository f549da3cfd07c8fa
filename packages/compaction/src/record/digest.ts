import { estimateTokens } from "@bonsai-agent/messages";
import { counted } from "@bonsai-agent/messages/numbers";
import type { SpanRecord } from "../details.ts";
import { linesTokens, type Outcome, outcomeLine, outcomeLines } from "./outcomes.ts";
import { selectedTexts } from "./selection.ts";
import { dividedTokens } from "./shares.ts";
import {
  clippedClosings,
  clippedWords,
  closingLine,
  closingsTokens,
  lastAnswer,
  otherClosings,
  wordLines,
  wordsTokens,
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
  "[This extract was made without a model. It quotes the session, oldest first, and draws no conclusions.]";
const EARLIER = "## Earlier summary";
const BRANCH = "# Summary of another branch";
/** The level of plain text, below every heading. */
const TEXT_LEVEL = 7;

/** Shares of the budget for the sections, if not everything fits. */
const SHARES = { irreversible: 6, failing: 6, todos: 3, standing: 2, earlier: 4, conversation: 30 };
const CONVERSATION_SHARES = { words: 7, closings: 3 };
/** The tokens of the sentences that introduce a conversation. */
const INTRODUCTION_TOKENS = 70;

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
  const { record, earlierSummary = "", branchSummaries = [], focus } = options;
  const { failing, irreversible, openTodos } = record.outcomes;
  const branches = branchSummaries.map((summary) => branchNotes(summary, record));
  const notes = [notesOf(earlierSummary), ...branches].join("\n");
  const { words, closings } = record;
  const saidTokens = options.carriesUserWords
    ? 0
    : INTRODUCTION_TOKENS + wordsTokens(words) + closingsTokens(closings);
  const need = (share: number, tokens: number) => ({ share, need: tokens });
  const tokens = dividedTokens(options.maxTokens - estimateTokens(INTRODUCTION) - HEADINGS_TOKENS, {
    irreversible: need(SHARES.irreversible, linesTokens(irreversible.map((done) => outcomeLine(done)))),
    failing: need(SHARES.failing, linesTokens(failing.map((failed) => outcomeLine(failed)))),
    todos: need(SHARES.todos, linesTokens(openTodos.map((todo) => outcomeLine(todo)))),
    standing: need(SHARES.standing, linesTokens(standingLines(record, Number.POSITIVE_INFINITY))),
    earlier: need(SHARES.earlier, linesTokens(notes.split("\n"))),
    conversation: need(SHARES.conversation, saidTokens),
  });
  const parts = [
    section(EARLIER, clippedNotes(notes, tokens.earlier)),
    section("## Conversation", saidTokens === 0 ? [] : conversationLines(record, tokens.conversation, focus)),
    section("## Irreversible commands", countedLines(irreversible, tokens.irreversible)),
    section("## Failing commands", countedLines(failing, tokens.failing)),
    section("## Open to-dos", countedLines(openTodos, tokens.todos)),
    section("## Latest statement", standingLines(record, tokens.standing, focus)),
  ].filter((part) => part !== "");
  return [INTRODUCTION, ...(parts.length === 0 ? [countsOf(record)] : parts)].join("\n\n");
}

function conversationLines({ words, closings }: SpanRecord, maxTokens: number, focus?: string): string[] {
  const tokens = dividedTokens(maxTokens - INTRODUCTION_TOKENS, {
    words: { need: wordsTokens(words), share: CONVERSATION_SHARES.words },
    closings: { need: closingsTokens(closings), share: CONVERSATION_SHARES.closings },
  });
  const said = clippedWords(words, { maxTokens: tokens.words, focus });
  return wordLines(said, { closings: otherClosings(closings, { maxTokens: tokens.closings, focus }) });
}

/** The latest statement of the agent, clipped to `maxTokens`. */
function standingLines({ closings }: SpanRecord, maxTokens: number, focus?: string): string[] {
  const last = lastAnswer(closings);
  if (last === undefined) return [];
  return clippedClosings([last], { maxTokens, focus }).map((closing) => closingLine(closing));
}

const HEADINGS_TOKENS = 60;

/** The outcomes that fit, after a line with the number of omitted ones. */
function countedLines(outcomes: readonly Outcome[], maxTokens: number): string[] {
  const kept = outcomeLines(outcomes, maxTokens);
  const leftOut = outcomes.length - kept.length;
  return leftOut === 0 ? kept : [`(${counted(leftOut, "earlier line")} left out.)`, ...kept];
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
  const kept = selectedTexts(said, { maxTokens, tokensBeside: () => 1 });
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
