import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { callsIn, contentText, estimateTokens, type Message } from "@bonsai-agent/messages";
import {
  type BenchTable,
  claudeCodeTranscript,
  codexTranscript,
  type TranscriptItem,
} from "@bonsai-agent/testkit";
import { annotatedSessions } from "../../compaction/bench/annotated.ts";
import { recordedMessages } from "../../compaction/bench/day-messages.ts";
import {
  type GapRecord,
  gapRecord,
  gapText,
  type LostFacts,
  lostFacts,
} from "../../compaction/src/carry/gap.ts";
import { checkLoss, termLines } from "../../compaction/src/carry/loss.ts";
import { recordAfter } from "../../compaction/src/carry/record.ts";
import type { SpanRecord } from "../../compaction/src/details.ts";
import { digestText } from "../../compaction/src/record/digest.ts";
import { outcomeLine } from "../../compaction/src/record/outcomes.ts";
import { sentencesOf, textsIn } from "../../compaction/src/record/sentence.ts";
import { clippedClosings, statementsIn } from "../../compaction/src/record/statements.ts";
import { specificTerms, visibleTexts } from "../../lab/src/needed-terms.ts";
import { type CompactionSpan, compactionSpans, importTranscript } from "../src/index.ts";

/** One compaction, and the terms that its future needs and its context does not show. */
interface Moment {
  span: CompactionSpan;
  record: SpanRecord;
  lost: LostFacts;
  /** The same without a known summary. */
  blind: LostFacts;
  neededCount: number;
  lostTerms: string[];
}

const FUTURE_MESSAGES = 100;
const SIZES = [500, 1_000, 2_800];
/** The characters that Claude Code accepts from a hook. */
const HOOK_CHARS = 9_900;

/** The bench fails below these shares of the lost terms. */
const GOALS: Readonly<Record<number, number>> = { 1000: 0.55, 2800: 0.75 };

/** Measures the share of the lost terms that a text added after a compaction shows. */
export default async function bench(): Promise<BenchTable[]> {
  const sessions = { recorded: recordedDay(), annotated: annotated(), workday: [workday()] };
  const formats = [
    ["Claude Code", claudeCodeTranscript],
    ["Codex", codexTranscript],
    ["Codex, encrypted", (items: readonly TranscriptItem[]) => codexTranscript(items, false)],
  ] as const;
  return Object.entries(sessions).flatMap(([name, lists]) =>
    formats.map(([format, write]) =>
      table(
        `${name}, ${format}`,
        lists.flatMap((items) => moments(write(items))),
      ),
    ),
  );
}

function table(name: string, all: readonly Moment[]): BenchTable {
  const needed = all.reduce((sum, { neededCount }) => sum + neededCount, 0);
  const lost = all.flatMap(({ lostTerms }) => lostTerms).length;
  const row = (text: string, make: (moment: Moment) => string) => {
    const texts = all.map(make);
    const found = all.flatMap(({ lostTerms }, at) => lostTerms.filter((term) => texts[at]!.includes(term)));
    const tokens = texts.reduce((sum, each) => sum + estimateTokens(each), 0) / all.length;
    return { cells: [text, tokens.toFixed(0), (found.length / lost).toFixed(2)], share: found.length / lost };
  };
  const made = (facts: (moment: Moment) => LostFacts, maxTokens: number) => (moment: Moment) =>
    gapText(facts(moment), { maxTokens, maxSize: HOOK_CHARS, ending: "" }).text;
  const rows = [
    row("the digest, cut at the hook's limit", ({ record }) =>
      digestText({ record, maxTokens: 3_000 }).slice(0, HOOK_CHARS),
    ),
    row("the loss report", ({ record, span }) =>
      checkLoss(record, { summary: span.compaction!.summary }, 600).lines.join("\n"),
    ),
    row("the index of terms alone", ({ record }) => termLines(record.terms, 2_800, () => false).join("\n")),
    row("a blind draw of terms", ({ blind }) => blindDraw(blind.terms, 2_800)),
    ...SIZES.map((size) =>
      row(
        `this text, ${size} tokens`,
        made(({ lost }) => lost, size),
      ),
    ),
    ...SIZES.slice(1).map((size) =>
      row(
        `this text without a known summary, ${size} tokens`,
        made(({ blind }) => blind, size),
      ),
    ),
  ];
  for (const [at, size] of SIZES.entries()) {
    const share = rows[4 + at]!.share;
    if (share < (GOALS[size] ?? 0))
      throw new Error(`${name}: ${size} tokens show ${share.toFixed(2)} of the lost terms.`);
  }
  return {
    title: `Text after a compaction: ${name}`,
    columns: ["text added after the compaction", "tokens", "lost terms shown"],
    rows: rows.map(({ cells }) => cells),
    notes: [
      `${all.length} compactions. Needed within ${FUTURE_MESSAGES} messages: ${needed} terms; lost: ${lost}.`,
      outcomesNote(all),
      "The summaries are made up: answers of the agent, half of the user's first sentences, the most used files.",
    ],
  };
}

/** The share of lost actions and failures that the longest text shows, and of all facts that the summary lost. */
function outcomesNote(all: readonly Moment[]): string {
  const count = (kind: "irreversible" | "failing") => {
    const facts = all.flatMap(({ record, lost }) => {
      const text = gapText(lost, { maxTokens: SIZES.at(-1)!, maxSize: HOOK_CHARS, ending: "" }).text;
      return lost[kind].map((fact) => ({ isShown: text.includes(outcomeLine(fact)), of: record }));
    });
    const known = all.reduce((sum, { record }) => sum + record.outcomes[kind].length, 0);
    return `${facts.filter(({ isShown }) => isShown).length} of ${facts.length} lost (${known} in all)`;
  };
  return `Shown at ${SIZES.at(-1)} tokens: irreversible actions ${count("irreversible")}, open failures ${count("failing")}.`;
}

function moments(text: string): Moment[] {
  const spans = spansOf(text);
  let record: GapRecord | undefined;
  let whole: SpanRecord | undefined;
  const past: Message[] = [];
  return spans.slice(0, -1).map((span, at) => {
    record = gapRecord(record, span.messages);
    whole = recordAfter({ messages: span.messages, earlier: whole, wordsTokens: 4_000 });
    past.push(...span.messages.map(({ message }) => message));
    const future = spans.slice(at + 1).flatMap(({ messages }) => messages.map(({ message }) => message));
    const { summary, restored } = span.compaction!;
    const known = specificTerms(visibleTexts(past));
    const used = future.slice(0, FUTURE_MESSAGES).flatMap(usedTexts);
    const needed = [...specificTerms(used.join("\n"))].filter((term) => known.has(term));
    const shown = `${summary}\n${restored}`;
    return {
      span,
      record: whole,
      lost: lostFacts(record, shown),
      blind: lostFacts(record, ""),
      neededCount: needed.length,
      lostTerms: needed.filter((term) => !shown.includes(term)),
    };
  });
}

/** The texts of an answer and of the arguments of its calls. */
function usedTexts(message: Message): string[] {
  if (message.role !== "assistant") return [];
  return [contentText(message.content), ...callsIn(message).flatMap((call) => textsIn(call.arguments))];
}

function spansOf(text: string): CompactionSpan[] {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-hook-"));
  try {
    const path = join(folder, "transcript.jsonl");
    writeFileSync(path, text);
    return compactionSpans(importTranscript({ path }).entries);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Every n-th term, so that the terms fill the tokens. */
function blindDraw(terms: readonly string[], maxTokens: number): string {
  const tokens = estimateTokens(terms.join(", "));
  const step = Math.max(1, tokens / maxTokens);
  const drawn = terms.toSorted().filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step));
  return drawn.join(", ");
}

/** The recorded day, with compactions after 220 messages each, and with one late compaction. */
function recordedDay(): TranscriptItem[][] {
  const messages = recordedMessages();
  if (messages === undefined) return [];
  return [compactedAt(messages, [220, 440, 660, 840]), compactedAt(messages, [640])];
}

function annotated(): TranscriptItem[][] {
  return annotatedSessions().map(({ entries, checkpoints }) => {
    const messages = entries.filter(({ message }) => message !== undefined);
    const places = checkpoints.map((id) => messages.findIndex((entry) => entry.id === id) + 1);
    return compactedAt(
      messages.map(({ message }) => message!),
      places.filter((place) => place < messages.length),
    );
  });
}

/** The example of a working day. */
function workday(): TranscriptItem[] {
  const file = fileURLToPath(new URL("../../../examples/workday.jsonl", import.meta.url));
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  const messages = lines.flatMap((line) => JSON.parse(line).message ?? []) as Message[];
  return compactedAt(messages, [Math.floor(messages.length / 3), Math.floor((messages.length * 2) / 3)]);
}

/** Inserts compactions, each with a summary of the messages since the one before. */
function compactedAt(messages: readonly Message[], places: readonly number[]): TranscriptItem[] {
  const items: TranscriptItem[] = [];
  let from = 0;
  for (const place of [...places, messages.length]) {
    const isSplit = messages[place]?.role === "toolResult";
    const end = isSplit
      ? place + messages.slice(place).findIndex(({ role }) => role !== "toolResult")
      : place;
    items.push(...messages.slice(from, end));
    if (end < messages.length) items.push({ summary: madeSummary(messages.slice(from, end)) });
    from = end;
  }
  return items;
}

const SUMMARY_TOKENS = 2_200;
const SUMMARY_FILES = 12;

function madeSummary(messages: readonly Message[]): string {
  const { said, closings } = statementsIn(messages.map((message) => ({ message })));
  const asked = said.flatMap(({ text }) => sentencesOf(text).slice(0, 1)).filter((_, at) => at % 2 === 0);
  const files = messages.flatMap((message) =>
    callsIn(message).flatMap((call) => [call.arguments.path].filter((path) => typeof path === "string")),
  );
  const uses = Map.groupBy(files, (path) => path);
  const used = [...uses].sort((a, b) => b[1].length - a[1].length).slice(0, SUMMARY_FILES);
  const told = clippedClosings(closings, { maxTokens: SUMMARY_TOKENS }).map(({ text }) => `- ${text}`);
  return [...asked.map((text) => `- ${text}`), ...used.map(([path]) => path), ...told].join("\n");
}
