import type { Message } from "@bonsai-agent/messages";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { recordAfter } from "../../src/carry/record.ts";
import { recordSchema } from "../../src/details.ts";
import { said } from "./run-messages.ts";

const record = recordAfter({
  messages: [
    said("user", "Never touch src/legacy.", "e1"),
    said("assistant", [{ type: "text", text: "Good." }]),
  ],
  wordsTokens: 4_000,
});
const storedRecord = (value: unknown) => recordSchema.safeParse(value).data;
const stored = () => JSON.parse(JSON.stringify(record));

test("a stored record is read as it was written", () => {
  expect(storedRecord(stored())).toEqual(stored());
});

test("leaves out a damaged item and keeps the others", () => {
  const damaged = stored();
  damaged.words.said.push({ turn: 2, text: 7 }, null, { turn: -1, text: "And log it.", entryId: [] });
  expect(storedRecord(damaged)?.words.said.map(({ text }) => text)).toEqual([
    "Never touch src/legacy.",
    "And log it.",
  ]);
});

test("a record without one of its parts is not a record", () =>
  everyRow(["words", "closings", "terms", "outcomes"])((part) => {
    for (const value of [undefined, null, 7, "x", part === "closings" ? {} : []])
      expect(storedRecord({ ...stored(), [part]: value })).toBeUndefined();
  }));

test("reads a command with a damaged field", () =>
  everyRow(["command", "output", "exitCode"])((field) => {
    const command = { role: "bashExecution", command: "ls src/a.ts", output: "src/a.ts", exitCode: 0 };
    const message = { ...command, [field]: { toString: 1 } } as unknown as Message;
    expect(recordAfter({ messages: [{ message }], wordsTokens: 4_000 }).words.said).toHaveLength(1);
  }));
