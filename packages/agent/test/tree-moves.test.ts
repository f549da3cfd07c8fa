import { expect, test } from "vitest";
import { unpaired } from "./pairs.ts";
import { done, filler, scriptedAgent, sentText, summary } from "./scripted-agent.ts";

test("a move in the tree takes a summary along; an abort changes nothing, and what was typed meanwhile waits", async () => {
  const run = scriptedAgent({
    turn: () => done,
    summary: () => summary,
  });
  for (const text of [filler(100), "two", "three"]) await run.agent.prompt(text);
  const second = run.session
    .path()
    .find((entry) => entry.type === "message" && entry.message.role === "assistant")!;
  const leaf = run.session.leafId;
  const off = run.lifecycle.on("session_before_tree", () => {
    off();
    void run.agent.abort();
  });
  const { size } = { size: run.session.store.size() };
  expect((await run.agent.navigate(second.id, { summarise: true })).status).toBe("cancelled");
  expect([run.session.leafId, run.session.store.size()]).toEqual([leaf, size]);

  let waiting: Promise<unknown> | undefined;
  run.lifecycle.on("session_before_tree", () => {
    waiting = run.agent.prompt("here now");
  });
  const moved = await run.agent.navigate(second.id, { summarise: true, focus: "the third one" });
  expect(sentText(run.summaries.at(-1)!)).toContain("the third one");
  expect(moved).toMatchObject({ status: "moved", summaryEntry: { type: "branch_summary" } });
  expect(await waiting).toMatchObject({ status: "done" });
  const roles = run.session.projection().items.map(({ message }) => message.role);
  expect(roles).toEqual(["user", "assistant", "branchSummary", "user", "assistant"]);
});

test("after a move to an answer whose calls have their results elsewhere, each call has a result again", async () => {
  const run = scriptedAgent({ turn: [{ calls: [{ name: "echo" }, { name: "echo" }] }, done, done] });
  await run.agent.prompt("go");
  const answer = run.session
    .path()
    .find((entry) => entry.type === "message" && entry.message.role === "assistant")!;
  await run.agent.navigate(answer.id);
  expect((await run.agent.prompt("another way")).status).toBe("done");
  const { messages } = run.turns.at(-1)!;
  expect(unpaired(messages)).toEqual([]);
  expect(messages.at(-1)).toMatchObject({ role: "user", content: "another way" });
});
