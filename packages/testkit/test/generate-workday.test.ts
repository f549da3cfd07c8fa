import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageText } from "@bonsai-agent/messages";
import { openSession } from "@bonsai-agent/session";
import { generateWorkday } from "@bonsai-agent/testkit";
import { afterAll, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "bonsai-workday-"));
afterAll(() => rmSync(folder, { recursive: true }));

function workday(options: { seed: number; entries: number }): string {
  const file = join(folder, `${options.seed}-${options.entries}.jsonl`);
  generateWorkday({ file, ...options });
  return file;
}

test.each([200, 400, 900])("a day of %i entries has about that many", (entries) => {
  const count = [...openSession(workday({ seed: 3, entries })).entries()].length;
  expect(count).toBeGreaterThan(entries * 0.9);
  expect(count).toBeLessThan(entries * 1.15);
});

test("the same seed makes the same day, another seed another one", () => {
  const first = readFileSync(workday({ seed: 1, entries: 200 }), "utf8");
  expect(readFileSync(workday({ seed: 1, entries: 200 }), "utf8")).toBe(first);
  expect(readFileSync(workday({ seed: 2, entries: 200 }), "utf8")).not.toBe(first);
});

test("every call of the day has its result, and the day ends with an open failure", () => {
  const { items } = openSession(workday({ seed: 7, entries: 400 })).projection();
  const messages = items.map(({ message }) => message);
  const calls = messages.flatMap((message) =>
    message.role === "assistant" ? message.content.filter((block) => block.type === "toolCall") : [],
  );
  const results = messages.flatMap((message) => (message.role === "toolResult" ? [message.toolCallId] : []));
  expect(calls.map(({ id }) => id)).toEqual(results);
  expect(messageText(messages.at(-1)!)).toContain("ECONNREFUSED");
});

test("the attempt that was given up is off the active path", () => {
  const session = openSession(workday({ seed: 7, entries: 400 }));
  const onPath = new Set(session.path().map(({ id }) => id));
  const off = [...session.entries()].filter(({ id }) => !onPath.has(id));
  expect(off.length).toBeGreaterThan(3);
});
