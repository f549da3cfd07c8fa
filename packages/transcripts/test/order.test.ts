import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { NoticeLog } from "../src/import/notices.ts";
import { pairToolCalls } from "../src/import/pair-tool-calls.ts";
import { answerDraft, resultDraft, type Step } from "../src/import/step.ts";
import { answers, asks, event, type Line, rollout } from "./codex-rollout.ts";
import { projectionText } from "./projection-text.ts";

const counts = (total_tokens: number): Line => {
  const last_token_usage = { input_tokens: 90, cached_input_tokens: 0, output_tokens: 10, total_tokens: 100 };
  return event({ type: "token_count", info: { total_token_usage: { total_tokens }, last_token_usage } });
};

test("Codex: counts that are reported again belong to no further answer", () => {
  const once = rollout(
    undefined,
    asks("one"),
    answers("1"),
    counts(100),
    asks("two"),
    answers("2"),
    counts(100),
  );
  expect(once.report.usage).toMatchObject({ input: 90, output: 10 });
  const twice = rollout(
    undefined,
    asks("one"),
    answers("1"),
    counts(100),
    asks("two"),
    answers("2"),
    counts(200),
  );
  expect(twice.report.usage).toMatchObject({ input: 180, output: 20 });
});

test("Codex: turns that were taken back are out of the context, and stay as a branch", () =>
  everyRow([
    [1, ["U one", "A 1", "U two", "A 2", "U again"]],
    [2, ["U one", "A 1", "U again"]],
    [9, ["U again"]],
  ])(([num_turns, seen]) => {
    const turns = ["one", "two", "three"].flatMap((word, at) => [asks(word), answers(`${at + 1}`)]);
    const result = rollout(
      undefined,
      ...turns,
      event({ type: "thread_rolled_back", num_turns }),
      asks("again"),
    );
    expect(projectionText(result)).toEqual(seen);
    expect(result.entries.filter(({ type }) => type === "message")).toHaveLength(7);
  }));

const user = (key: string, parent: string | null): Step => ({
  key,
  parent,
  at: undefined,
  draft: { type: "message", message: { role: "user", content: key, timestamp: 0 } },
});

test("a late result keeps its place and gets the name of its tool", () => {
  const call = { type: "toolCall", id: "c", name: "read", arguments: {} } as const;
  const answer = answerDraft({ content: [call], provider: "p", model: "m" });
  const result = resultDraft("c", { content: [{ type: "text", text: "the file" }], isError: false });
  const steps: Step[] = [
    { key: "answer", parent: null, at: undefined, draft: answer },
    user("between", "answer"),
    { key: "result", parent: "between", at: undefined, draft: result },
    user("after", "result"),
  ];
  const notices = new NoticeLog();
  const paired = pairToolCalls(steps, "after", notices);
  expect(paired.steps.map(({ key, parent }) => [key, parent])).toEqual([
    ["answer", null],
    ["between", "answer"],
    ["result", "between"],
    ["after", "result"],
  ]);
  expect(paired.steps[2]!.draft).toMatchObject({ message: { toolName: "read", isError: false } });
  expect([paired.leaf, notices.all().map(({ kind }) => kind)]).toEqual(["after", []]);
});
