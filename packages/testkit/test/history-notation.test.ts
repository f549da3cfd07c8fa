import { callsIn, chars4Estimator } from "@bonsai-agent/messages";
import fc from "fast-check";
import { expect, test } from "vitest";
import { history, treeArbitrary } from "../src/index.ts";

const roles = (notation: string) =>
  history(notation)
    .session.projection()
    .items.map((item) => item.message.role);

test("a notation becomes a session, word by word", () => {
  expect(roles("U A(t1 t2) T1 T2 A | U A")).toEqual(
    "user assistant toolResult toolResult assistant user assistant".split(" "),
  );
  expect(roles("U B B! X S m k l i p A")).toEqual(
    "user bashExecution custom branchSummary assistant".split(" "),
  );
});

test("sizes are exact by four characters a token", () => {
  const { session } = history("U:100 A:50 A(t1=edit:a.ts):70 T1:2000 B:30 X:9 S:12");
  expect(session.projection().items.map((item) => chars4Estimator.message(item.message))).toEqual([
    // Those of an extension's message and of a branch are without the frame that the model sees around them.
    100,
    50,
    70,
    2000,
    30,
    9 + 15,
    12 + 56,
  ]);
});

test("calls have tools and arguments, results find their calls", () => {
  const { session, id } = history('U A(t1=bash:ls t2=write:b.ts) T2! T1"out"');
  const answer = session.entry(id("a1"));
  expect(
    answer?.type === "message" && callsIn(answer.message).map((call) => [call.name, call.arguments]),
  ).toEqual([
    ["bash", { command: "ls" }],
    ["write", { path: "b.ts", content: "content" }],
  ]);
  expect(session.entry(id("t2"))).toMatchObject({ message: { toolName: "write", isError: true } });
});

test("compactions, edits, undo and moves", () => {
  expect(roles('U A | U A C(u2)"so far" U')).toEqual("compactionSummary user assistant user".split(" "));
  expect(roles("U A C() U")).toEqual(["compactionSummary", "user"]);
  expect(roles("U A C() Z(c1)")).toEqual(["user", "assistant"]);
  expect(roles("U A U E(u1)")).toEqual(["assistant", "user"]);
  expect(roles("U A ^u1 A A")).toEqual(["user", "assistant", "assistant"]);
  const masked = history("U A(t1) T1:50 M(t1)").session.projection().items.at(-1)!;
  expect(masked.message).toMatchObject({ content: [{ text: "[Old tool result content cleared]" }] });
});

test("what cannot be read is refused", () => {
  expect(() => history("U 7")).toThrow("Cannot read the history at: 7");
  expect(() => history("U E(u9)")).toThrow("No entry is called u9");
});

test("random trees can be built, and hold calls, edits, compactions and branches", () => {
  const kinds = new Set<string>();
  fc.assert(
    fc.property(treeArbitrary(), (notation) => {
      const { session } = history(notation);
      for (const entry of session.entries()) kinds.add(entry.type);
      expect(session.projection().items.length).toBeLessThanOrEqual(session.path().length);
    }),
  );
  for (const kind of ["message", "compaction", "context_edit", "custom", "model_change"])
    expect(kinds).toContain(kind);
});
