import { BonsaiError } from "@bonsai-agent/messages";
import { createSession, MemoryStore } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import type { CustomInput } from "../src/events.ts";
import { calls, done, recordEvents, scriptedAgent, sentText } from "./scripted-agent.ts";
import { message, said } from "./sent-message.ts";

test("an idle agent stores a message at once and does not begin to work", async () => {
  const run = scriptedAgent({ turn: [] });
  const details = { id: 7 };
  expect(await run.agent.sendMessage(message("look here", { details, display: false }))).toBeUndefined();
  expect(run.session.path()).toMatchObject([
    { type: "custom_message", customType: "note", content: "look here", display: false, details },
  ]);
  expect(run.agent.isBusy).toBe(false);
});

test("the model sees a sent message as the user's", async () => {
  const run = scriptedAgent({ turn: [done] });
  await run.agent.sendMessage(message([{ type: "text", text: "look here" }]));
  await run.agent.prompt("go");
  expect(sentText(run.turns[0]!)).toContain("look here");
});

test("a message for the user's next prompt waits through a run that an extension begins", async () => {
  const run = scriptedAgent({ turn: [done, done] });
  await run.agent.sendMessage(message("for the user"), { deliverAs: "nextTurn" });
  await run.agent.sendMessage(message("go on"), { triggerTurn: true });
  await run.agent.prompt("go");
  expect(run.turns.map((turn) => sentText(turn).includes("for the user"))).toEqual([false, true]);
});

test("its start, its end and its being stored have events, and an extension can change it", async () => {
  const run = scriptedAgent({ turn: [] });
  run.lifecycle.on("message_end", ({ message: told }) => ({
    message: { ...told, content: "****" } as never,
  }));
  const events = recordEvents(run.lifecycle);
  const stored: unknown[] = [];
  run.lifecycle.on("message_stored", ({ entryId, message: told }) => void stored.push([entryId, told]));
  await run.agent.sendMessage(message("the key"));
  expect(events).toEqual(["message_start custom", "message_end custom", "message_stored custom"]);
  const [entry] = run.session.path();
  expect(entry).toMatchObject({ content: "****" });
  expect(stored).toMatchObject([[entry!.id, { role: "custom", content: "****" }]]);
});

test("with triggerTurn an idle agent works on it: a run without the event input", async () => {
  const run = scriptedAgent({ turn: [done] });
  const prompts: unknown[] = [];
  run.lifecycle.on("before_agent_start", ({ prompt }) => void prompts.push(prompt));
  const events = recordEvents(run.lifecycle);
  expect(await run.agent.sendMessage(message("go on"), { triggerTurn: true })).toMatchObject({
    status: "done",
    answer: { content: [{ text: "done" }] },
  });
  expect(prompts).toEqual(["go on"]);
  expect(events.slice(0, 6)).toEqual([
    ...["before_agent_start", "agent_start", "turn_start", "message_start custom", "message_end custom"],
    ...["message_stored custom"],
  ]);
  expect(said(run.session)).toEqual(["custom go on", "assistant"]);
});

/** A store whose disk is full while the test says so. */
class FullStore extends MemoryStore {
  isFull = false;

  override append(text: string): number {
    if (!this.isFull) return super.append(text);
    throw new BonsaiError({ code: "append_failed", message: "No space left on device.", hint: "Make room." });
  }
}

test.each([{}, { triggerTurn: true }, { deliverAs: "nextTurn" }] as const)(
  "a message that a full disk refuses goes with the user's next prompt: %j",
  async (options) => {
    const store = new FullStore();
    const run = scriptedAgent({ session: createSession({ store, cwd: "/project" }), turn: () => done });
    store.isFull = true;
    const sent = await run.agent.sendMessage(message("note"), options);
    expect(sent?.status).toBe("triggerTurn" in options ? "failed" : undefined);
    if ("deliverAs" in options)
      expect((await run.agent.prompt("vain")).unsent).toMatchObject([{ text: "vain" }]);
    else expect(run.notices).toMatchObject([{ code: "custom_message_waits" }]);
    store.isFull = false;
    await run.agent.prompt("go");
    expect(said(run.session)).toEqual(["user go", "custom note", "assistant"]);
  },
);

test("a message that a full disk does not take during a run is stored when the run has failed", async () => {
  const store = new FullStore();
  const session = createSession({ store, cwd: "/project" });
  const run = scriptedAgent({ session, turn: [calls(), done] });
  run.lifecycle.on("tool_call", () => void run.agent.sendMessage(message("note")));
  run.lifecycle.on("message_start", ({ message: { role } }) => {
    store.isFull = role === "custom";
  });
  const off = run.lifecycle.on("agent_end", () => {
    off();
    run.lifecycle.on("message_end", () => {
      store.isFull = false;
    });
  });
  expect((await run.agent.prompt("go")).status).toBe("failed");
  expect(said(run.session)).toEqual(["user go", "assistant", "toolResult", "custom note"]);
});

const circle: Record<string, unknown> = {};

circle.self = circle;

const unusable = [
  ["nothing", undefined],
  ["no type", { content: "x", display: true }],
  ["no content", { customType: "note", display: true }],
  ["content of another kind", { customType: "note", content: [{ type: "video" }], display: true }],
  ["no display", { customType: "note", content: "x" }],
  ["details that are a circle", { customType: "note", content: "x", display: true, details: circle }],
] as const;
test("refuses a message that has no text or type, and stores nothing", async () => {
  for (const [name, bad] of unusable) {
    const run = scriptedAgent({ turn: [] });
    await expect.soft(run.agent.sendMessage(bad as CustomInput), name).rejects.toMatchObject({
      code: "custom_message_invalid",
    });
    expect.soft(run.session.path(), name).toEqual([]);
    expect.soft(run.agent.isBusy, name).toBe(false);
  }
});

test("a caller that changes the object afterwards changes nothing of what was sent", async () => {
  const run = scriptedAgent({ turn: [calls(), done] });
  const details = { count: 1 };
  const off = run.lifecycle.on("tool_call", () => {
    off();
    void run.agent.sendMessage(message("note", { details }));
    details.count = 2;
  });
  await run.agent.prompt("go");
  expect(run.session.path().find(({ type }) => type === "custom_message")).toMatchObject({
    details: { count: 1 },
  });
});

test("a handler that awaits it is not waited for in turn", async () => {
  const run = scriptedAgent({ turn: [calls(), done] });
  const told: unknown[] = [];
  const off = run.lifecycle.on("tool_call", async () => {
    off();
    told.push(await run.agent.sendMessage(message("note")));
  });
  expect((await run.agent.prompt("go")).status).toBe("done");
  expect(told).toEqual([{ status: "queued" }]);
});

test("the messages of several handlers of before_agent_start are all put behind the prompt", async () => {
  const run = scriptedAgent({ turn: [done] });
  for (const text of ["one", "two"])
    run.lifecycle.on("before_agent_start", () => ({ message: message(text) }));
  const ended: unknown[] = [];
  run.lifecycle.on("agent_end", ({ messages }) => void ended.push(messages.map(({ role }) => role)));
  await run.agent.prompt("go");
  expect(said(run.session)).toEqual(["user go", "custom one", "custom two", "assistant"]);
  expect(ended).toEqual([["user", "custom", "custom", "assistant"]]);
});

test("the system prompt of now is that of the run, as extensions left it; the signal is that of the run", async () => {
  const run = scriptedAgent({ turn: [done] });
  run.lifecycle.on("before_agent_start", () => ({ systemPrompt: "You are somebody else." }));
  const seen: unknown[] = [];
  run.lifecycle.on("turn_start", () => void seen.push(run.agent.systemPrompt, run.agent.signal?.aborted));
  const look = () => seen.push(run.agent.systemPrompt, run.agent.signal);
  look();
  await run.agent.prompt("go");
  look();
  expect(seen).toEqual([
    ...["You are a test.", undefined],
    ...["You are somebody else.", false],
    ...["You are a test.", undefined],
  ]);
});

test("the signal is aborted when the work is stopped", async () => {
  const run = scriptedAgent({ turn: [calls()] });
  const seen: (boolean | undefined)[] = [];
  run.lifecycle.on("tool_call", () => {
    const { signal } = run.agent;
    seen.push(signal?.aborted);
    void run.agent.abort();
    seen.push(signal?.aborted);
  });
  await run.agent.prompt("go");
  expect(seen).toEqual([false, true]);
});
