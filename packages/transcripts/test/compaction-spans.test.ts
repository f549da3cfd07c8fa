import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Message, messageText } from "@bonsai-agent/messages";
import { claudeCodeTranscript, codexTranscript, everyRow, type TranscriptItem } from "@bonsai-agent/testkit";
import {
  type CompactionSpan,
  compactionSpans,
  importTranscript,
  type ReadPlace,
  readCurrentSpan,
  type TailFormat,
} from "@bonsai-agent/transcripts";
import { expect, test } from "vitest";
import { folder, transcriptFile } from "./transcript-file.ts";

const user = (content: string): Message => ({ role: "user", content, timestamp: 0 });
const answer = (text: string): Message =>
  ({ role: "assistant", content: [{ type: "text", text }], timestamp: 0 }) as unknown as Message;

const first = [user("first request"), answer("first answer")];
const second = [user("second request"), answer("second answer")];
const compaction = { summary: "the first summary" };
const nextCompaction = { summary: "the second summary" };

type Write = (items: readonly TranscriptItem[]) => string;
const codexEncrypted: Write = (items) => codexTranscript(items, false);

function texts(span: CompactionSpan | undefined): string[] | undefined {
  return span?.messages.flatMap(({ message }) => messageText(message).split("\n").at(-1) ?? []);
}

function spansOf(text: string): CompactionSpan[] {
  return compactionSpans(importTranscript({ path: transcriptFile(text) }).entries);
}

const formats: readonly (readonly [name: string, format: TailFormat, write: Write])[] = [
  ["Claude Code", "claude-code", claudeCodeTranscript],
  ["Codex", "codex", codexTranscript],
  ["Codex, encrypted", "codex", codexEncrypted],
];

test("splits a transcript at its compactions", () => {
  const expected = [
    { summary: "the first summary", restated: ["the first summary"] },
    { summary: "the first summary", restated: ["the first summary", "first request"] },
    { summary: "first request", restated: [] },
  ];
  return everyRow(formats)(([name, , write]) => {
    const { summary, restated } = expected[formats.findIndex((row) => row[0] === name)]!;
    const [before, open, ...none] = spansOf(write([...first, compaction, ...second]));
    expect(texts(before)).toEqual(["first request", "first answer"]);
    expect(before?.compaction?.summary.split("\n").at(-1)).toBe(summary);
    expect(texts(open)).toEqual([...restated, "second request", "second answer"]);
    expect(open?.compaction).toBeUndefined();
    expect(none).toEqual([]);
  });
});

test("restored texts end before the next answer", () => {
  const [span] = spansOf(claudeCodeTranscript([...first, compaction, ...second]));
  expect(span?.compaction?.restored).toBe("second request");
});

/** The items of a transcript, whether its last compaction is the current one, and the place of the current span. */
const MOMENTS: Readonly<Record<string, [items: TranscriptItem[], isRecorded: boolean, span: number]>> = {
  "no compaction yet": [first, false, 0],
  "a compaction that is not recorded yet": [[...first, compaction, ...second], false, 1],
  "a compaction at the end": [[...first, compaction], false, 0],
  "two compactions": [[...first, compaction, ...second, nextCompaction], false, 1],
  "answers after the compaction": [
    [...first, compaction, ...second, nextCompaction, answer("third answer")],
    true,
    1,
  ],
  "a compaction that should be recorded but is not": [first, true, 0],
};

test("reads the same current span from the end as from the whole transcript", () =>
  everyRow(Object.entries(MOMENTS))(([, [items, isRecorded, place]]) => {
    for (const [, format, write] of formats) {
      const text = write(items);
      const current = readCurrentSpan(transcriptFile(text), { format, isRecorded });
      const whole = spansOf(text)[place];
      expect(texts(current)).toEqual(texts(whole));
      expect(current.compaction?.summary).toBe(whole?.compaction?.summary);
    }
  }));

test("starts at the line of the compaction before the span", () => {
  const text = claudeCodeTranscript([...first, compaction, ...second]);
  const { start } = readCurrentSpan(transcriptFile(text), { format: "claude-code", isRecorded: false });
  expect(text.slice(start).split("\n", 1)[0]).toContain('"compact_boundary"');
});

test("skips damaged and huge lines, and reads at most 1.5 MB", () => {
  const text = claudeCodeTranscript([...first, compaction, ...second]);
  const image = claudeCodeTranscript([user("x".repeat(3_000_000))]);
  const damaged = `{"type":"user","uuid":"torn","message":{"content":"${image}\0\0not json\n${text}{"type":"assist`;
  expect(
    texts(readCurrentSpan(transcriptFile(damaged), { format: "claude-code", isRecorded: false })),
  ).toEqual(texts(spansOf(text)[1]));
  const long = claudeCodeTranscript(Array.from({ length: 10 }, () => user("y".repeat(400_000))));
  const { messages, skippedBytes } = readCurrentSpan(transcriptFile(long), {
    format: "claude-code",
    isRecorded: false,
  });
  expect(messages.length).toBe(3);
  expect(skippedBytes).toBeGreaterThan(2_500_000);
});

/** Answers of 270 kB each: two fill a part. */
const answers = (count: number) =>
  Array.from({ length: count }, (_, at) => answer(`answer ${at}\n${"z".repeat(270_000)}\nend ${at}`));
const currentSpan = (path: string, after?: ReadPlace) =>
  readCurrentSpan(path, { format: "claude-code", isRecorded: false, after });

test("a later call continues after the parts of an earlier one, and splits at the same places", () => {
  const items = [...first, compaction, ...answers(5)];
  const path = transcriptFile(claudeCodeTranscript(items.slice(0, -1)));
  const { place } = currentSpan(path);
  writeFileSync(path, claudeCodeTranscript(items));
  const whole = currentSpan(path);
  const continued = currentSpan(path, place);
  expect([continued.isContinued, continued.start]).toEqual([true, whole.start]);
  expect(whole.parts.length).toBeGreaterThan(1);
  expect(continued.parts.map((part) => part.length)).toEqual(whole.parts.slice(1).map((part) => part.length));
  expect(texts(continued)).toEqual(texts(whole));
  expect(continued.place).toEqual(whole.place);
});

test("reads a rewritten file and a new span from their start", () => {
  const items = [...first, ...answers(4)];
  const path = transcriptFile(claudeCodeTranscript(items));
  const { place } = currentSpan(path);
  writeFileSync(path, claudeCodeTranscript(items).replaceAll("z", "y"));
  expect(currentSpan(path, place).isContinued).toBe(false);
  writeFileSync(path, claudeCodeTranscript([...items, compaction, ...second]));
  const next = currentSpan(path, place);
  expect([next.isContinued, next.start]).toEqual([false, currentSpan(path).start]);
  expect(texts(next)).toEqual(["the first summary", "second request", "second answer"]);
});

test("reports a missing file and a pipe, and does not wait for its writer", () => {
  const pipe = join(folder, "pipe.jsonl");
  execFileSync("mkfifo", [pipe]);
  const codeOf = (path: string) => expect(() => readCurrentSpan(path, { format: "codex", isRecorded: true }));
  codeOf(join(folder, "missing.jsonl")).toThrow(expect.objectContaining({ code: "transcript_not_found" }));
  codeOf(pipe).toThrow(expect.objectContaining({ code: "transcript_not_a_file" }));
  codeOf(folder).toThrow(expect.objectContaining({ code: "EISDIR" }));
});
