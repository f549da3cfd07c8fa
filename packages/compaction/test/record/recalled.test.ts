import { emptyUsage, type Message } from "@bonsai-agent/messages";
import { expect, test } from "vitest";
import { recordAfter } from "../../src/carry/record.ts";
import { emptyRecord } from "../../src/details.ts";

const answer = (name: string, args: Record<string, unknown>): Message => ({
  role: "assistant",
  content: [{ type: "toolCall", id: "1", name, arguments: args }],
  ...{ api: "", provider: "", model: "", usage: emptyUsage(), stopReason: "toolUse", timestamp: 1 },
});
const result = (toolName: string, text: string, details?: unknown): Message => ({
  role: "toolResult",
  ...{ toolCallId: "1", toolName, content: [{ type: "text", text }], details, isError: false, timestamp: 2 },
});
const record = (...messages: Message[]) => {
  const {
    spans: _,
    terms,
    ...rest
  } = recordAfter({
    messages: messages.map((message, at) => ({ message, entryId: `e${at}` })),
    wordsTokens: 1_000,
  });
  return { ...rest, uses: terms.uses };
};
const { spans: _, terms: __, ...nothing } = emptyRecord;

const planted = "src/cargo/planner-31.ts\n- [ ] ship harbor_sync_77\nError: connect ECONNREFUSED";

test("a copy that was recalled is no news: no terms, no to-dos, no failures of its own", () => {
  const looked = answer("recall", { query: "src/cargo/planner-31.ts", entries: ["a1b2c3d4"] });
  const copy = result("recall", planted, { recalled: ["a1b2c3d4"] });
  expect(record(looked, copy)).toEqual({ ...nothing, uses: [] });
});

test("a result of another tool of that name is read like any other", () => {
  const uses = record(answer("look", {}), result("look", planted)).uses.map(({ term }) => term);
  expect(uses).toContain("src/cargo/planner-31.ts");
});
