import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { agentProject } from "./agent-project.ts";
import { modelSummary } from "./call/model-summary.ts";
import { longSession } from "./call/sample-session.ts";
import { isEnd, type RpcLine, RpcSession } from "./rpc-session.ts";

const scenario = {
  contextWindow: 100_000,
  turn: [{ text: "Well." }],
  summary: [{ text: modelSummary() }],
  title: [{ text: "Orders" }],
  atEnd: "repeat" as const,
};

/** A summary is made, and no mask is enough. */
const settingsOf = (confirm: string) => ({ compaction: { confirm, mask: { enabled: false } } });

function opened(confirm: string) {
  const project = agentProject(scenario);
  writeFileSync(join(project.home, "settings.json"), JSON.stringify(settingsOf(confirm)));
  const file = longSession();
  const before = readFileSync(file, "utf8");
  const rpc = new RpcSession(project, ["--session", file, ...project.model]);
  return { rpc, isUnchanged: () => readFileSync(file, "utf8") === before };
}

const isQuestion = ({ type }: RpcLine) => type === "extension_ui_request";

/** Answers each question as it comes. */
async function answer(rpc: RpcSession, answers: readonly object[]): Promise<RpcLine[]> {
  const questions: RpcLine[] = [];
  let from = 0;
  for (const given of answers) {
    const question = await rpc.wait(isQuestion, from);
    from = rpc.lines.indexOf(question) + 1;
    questions.push(question);
    rpc.send({ type: "extension_ui_response", id: question.id, ...given });
  }
  return questions;
}

const drafts = (rpc: RpcSession) =>
  rpc.lines.filter(({ type }) => type === "compaction_draft").map(({ draft }) => draft as RpcLine);

describe("a compaction is looked at over RPC", () => {
  test("the applied compaction is the plan, the draft and the edit on the client's screen", async () => {
    const { rpc } = opened("manual");
    rpc.send({ id: "c", type: "compact" });
    const text = `${modelSummary()}\n\nThe port is 8123.`;
    const questions = await answer(rpc, [
      { value: "Write the summary" },
      { value: "Edit the summary" },
      { value: text },
      { value: "Apply" },
    ]);
    const plain = [
      "Write the summary",
      "Change the focus",
      "Use the digest",
      "Keep more",
      "Keep less",
      "Keep one more turn",
      "Keep one turn less",
      "Cancel",
    ];
    expect(questions).toMatchObject([
      { method: "select", options: plain },
      { method: "select", title: expect.stringContaining("Nothing is saved yet.") },
      { method: "editor", prefill: modelSummary() },
      { method: "select", title: expect.stringMatching(/edited by you/) },
    ]);
    expect(questions[0]?.title).toMatch(/1 request to scripted\/.* of input/);
    const { data } = await rpc.wait(({ id }) => id === "c");
    expect(data).toMatchObject({ status: "compacted" });
    expect(drafts(rpc)).toMatchObject([
      { stage: "plan", reason: "manual", result: { planned: { requests: [{ kind: "history" }] } } },
      { stage: "ready", prose: modelSummary(), result: { requests: 1, summary: expect.any(String) } },
      { stage: "ready", isEdited: true, prose: text, actions: expect.arrayContaining(["apply", "edit"]) },
    ]);
    const { entries } = (await rpc.ask({ type: "get_entries" })).data as { entries: RpcLine[] };
    const entry = entries.find(({ type, summary }) => type === "compaction" && summary !== undefined);
    expect(entry).toMatchObject({
      summary: (drafts(rpc)[2]!.result as RpcLine).summary,
      details: { manifest: { isEdited: true } },
    });
    await rpc.end();
  });

  test("another focus; an input that is left leads back; a choice that is left cancels", async () => {
    const { rpc, isUnchanged } = opened("manual");
    rpc.send({ id: "c", type: "compact" });
    await answer(rpc, [
      { value: "Change the focus" },
      { cancelled: true },
      { value: "Change the focus" },
      { value: "the orders" },
      { cancelled: true },
    ]);
    expect(await rpc.wait(({ id }) => id === "c")).toMatchObject({ code: "rpc_compaction_failed" });
    expect(drafts(rpc).map(({ focus }) => focus)).toEqual([undefined, "the orders"]);
    expect(isUnchanged()).toBe(true);
    await rpc.end();
  });

  test("abort_compaction ends the question, and nothing is written", async () => {
    const { rpc, isUnchanged } = opened("manual");
    rpc.send({ id: "c", type: "compact" });
    await rpc.wait(isQuestion);
    expect((await rpc.ask({ type: "get_state" })).data).toMatchObject({ isCompacting: true });
    await rpc.ask({ type: "abort_compaction" });
    expect(await rpc.wait(({ id }) => id === "c")).toMatchObject({ code: "rpc_compaction_failed" });
    expect(isUnchanged()).toBe(true);
    await rpc.end();
  });

  test("confirm always asks at a threshold, queues messages meanwhile, and continues after a no", async () => {
    const { rpc } = opened("always");
    rpc.send({ id: "p", type: "prompt", message: "go on" });
    const question = await rpc.wait(isQuestion);
    expect((await rpc.ask({ type: "steer", message: "and be quick" })).data).toEqual({ queued: true });
    rpc.send({ type: "extension_ui_response", id: question.id, value: "Cancel" });
    await rpc.wait(isEnd);
    expect(rpc.lines.filter(isQuestion)).toHaveLength(1);
    expect(rpc.lines.find(({ type }) => type === "auto_compaction_end")).toMatchObject({
      outcome: { status: "cancelled", isDeclined: true },
    });
    const { messages } = (await rpc.ask({ type: "get_messages" })).data as { messages: RpcLine[] };
    expect(JSON.stringify(messages)).toContain("and be quick");
    await rpc.end();
  });

  test("the end of the input finishes the running work", async () => {
    const { rpc } = opened("always");
    rpc.send({ id: "p", type: "prompt", message: "go on" });
    await rpc.wait(isQuestion);
    expect(await rpc.end()).toMatchObject({ code: 0 });
    expect(rpc.lines.find(({ type }) => type === "auto_compaction_end")).toMatchObject({
      outcome: { status: "compacted" },
    });
    expect(rpc.lines.some(isEnd)).toBe(true);
  });

  test("a client that leaves before its answer has not agreed", async () => {
    const { rpc, isUnchanged } = opened("manual");
    rpc.send({ id: "c", type: "compact" });
    await answer(rpc, [{ value: "Write the summary" }]);
    await rpc.wait((line) => isQuestion(line) && String(line.title).includes("Nothing is saved yet."));
    expect(await rpc.end()).toMatchObject({ code: 0 });
    const response = rpc.lines.find(({ id }) => id === "c");
    expect(response).toMatchObject({ success: false, code: "rpc_compaction_failed" });
    expect(isUnchanged()).toBe(true);
  });

  test("shutdown stops it: nothing is written for the question", async () => {
    const { rpc } = opened("always");
    rpc.send({ id: "p", type: "prompt", message: "go on" });
    await rpc.wait(isQuestion);
    rpc.send({ type: "shutdown" });
    await rpc.ended;
    expect(rpc.lines.find(({ type }) => type === "auto_compaction_end")).toMatchObject({
      outcome: { status: "cancelled" },
    });
  });
});

test("the text and JSON modes compact without asking and print one notice", () =>
  everyRow(["text", "json"])(async (mode) => {
    const project = agentProject(scenario);
    writeFileSync(join(project.home, "settings.json"), JSON.stringify(settingsOf("always")));
    const argv = ["--mode", mode, "-p", "go on", "--session", longSession(), ...project.model];
    const { code, stdout, stderr } = await project.run(argv);
    expect(code).toBe(0);
    const notices = `${stdout}${stderr}`.split("compaction.confirm is on").length - 1;
    expect(notices).toBe(1);
    if (mode === "json") expect(stdout.includes('"status":"compacted"')).toBe(true);
  }));
