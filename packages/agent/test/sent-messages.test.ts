import { BonsaiError } from "@bonsai-agent/messages";
import { createSessionIn, MemoryStore, type Session } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import type { CustomInput } from "../src/run/input.ts";
import { calls, filler, recordEvents, scriptedAgent, sentText } from "./scripted-agent.ts";

const done = { text: "done" };
const failing = { error: { status: 401, message: "invalid key" } };
const message = (content: CustomInput["content"], more: Partial<CustomInput> = {}): CustomInput => ({
  customType: "note",
  content,
  display: true,
  ...more,
});

/** What the session holds, in order: who says it, and what. */
function said(session: Session): string[] {
  return session.projection().items.map(({ message: each }) => {
    const text = "content" in each && typeof each.content === "string" ? ` ${each.content}` : "";
    return `${each.role}${text}`;
  });
}

test("an idle agent stores a message at once and does not begin to work", async () => {
  const run = scriptedAgent({ turn: [] });
  const details = { id: 7 };
  expect(await run.agent.sendMessage(message("look here", { details, display: false }))).toBeUndefined();
  expect(run.session.path()).toMatchObject([
    { type: "custom_message", customType: "note", content: "look here", display: false, details },
  ]);
  expect(run.agent.isBusy).toBe(false);
});

test("the model sees it as the user's", async () => {
  const run = scriptedAgent({ turn: [done] });
  await run.agent.sendMessage(message([{ type: "text", text: "look here" }]));
  await run.agent.prompt("go");
  expect(sentText(run.turns[0]!)).toContain("look here");
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
    ...["before_agent_start", "agent_start", "message_start custom", "message_end custom"],
    ...["message_stored custom", "turn_start"],
  ]);
  expect(said(run.session)).toEqual(["custom go on", "assistant"]);
});

test.each([
  ["steer, the default", {}, ["user go", "assistant", "toolResult", "custom note", "assistant"]],
  [
    "steer that triggers nothing",
    { triggerTurn: false },
    ["user go", "assistant", "toolResult", "custom note", "assistant"],
  ],
  [
    "followUp",
    { deliverAs: "followUp" },
    ["user go", "assistant", "toolResult", "assistant", "custom note", "assistant"],
  ],
  [
    "followUp that triggers nothing",
    { deliverAs: "followUp", triggerTurn: false },
    ["user go", "assistant", "toolResult", "assistant", "custom note"],
  ],
  [
    "nextTurn",
    { deliverAs: "nextTurn" },
    ["user go", "assistant", "toolResult", "assistant", "user again", "custom note", "assistant"],
  ],
] as const)("during a run: %s", async (_what, options, expected) => {
  const run = scriptedAgent({ turn: (_call, count) => (count === 1 ? calls() : done) });
  const off = run.lifecycle.on("tool_call", () => {
    off();
    void run.agent.sendMessage(message("note"), options);
  });
  await run.agent.prompt("go");
  if ("deliverAs" in options && options.deliverAs === "nextTurn") {
    expect(said(run.session)).toHaveLength(4);
    await run.agent.prompt("again");
  }
  expect(said(run.session)).toEqual(expected);
  expect(run.agent.hasPendingMessages).toBe(false);
});

test("several that steer go in together, before the text that came after them", async () => {
  const run = scriptedAgent({ turn: [calls(), done, done] });
  const off = run.lifecycle.on("tool_call", () => {
    off();
    for (const each of ["one", "two"]) void run.agent.sendMessage(message(each));
    void run.agent.prompt("and me", { behavior: "steer" });
    void run.agent.sendMessage(message("three"));
    expect(run.agent.hasPendingMessages).toBe(true);
    expect(run.agent.state.steering.map(({ text }) => text)).toEqual(["and me"]);
  });
  await run.agent.prompt("go");
  expect(said(run.session)).toEqual([
    ...["user go", "assistant", "toolResult", "custom one", "custom two", "user and me", "assistant"],
    ...["custom three", "assistant"],
  ]);
});

test("agent_end may send: it is stored and begins nothing, unless it asks for a turn", async () => {
  for (const triggerTurn of [undefined, true]) {
    const run = scriptedAgent({ turn: (_call, count) => ({ text: `answer ${count}` }) });
    const off = run.lifecycle.on("agent_end", () => {
      off();
      void run.agent.sendMessage(message("note"), { triggerTurn });
    });
    await run.agent.prompt("go");
    expect(said(run.session)).toEqual([
      ...["user go", "assistant", "custom note"],
      ...(triggerTurn ? ["assistant"] : []),
    ]);
  }
});

test("behind the last answer one that asks for no turn is stored, and no request follows", async () => {
  const run = scriptedAgent({ turn: () => done });
  const off = run.lifecycle.on("turn_end", () => {
    off();
    void run.agent.sendMessage(message("note"), { triggerTurn: false });
  });
  await run.agent.prompt("go");
  expect(said(run.session)).toEqual(["user go", "assistant", "custom note"]);
  expect(run.turns).toHaveLength(1);
});

test("while the agent is compacted it waits; then it is stored, or worked on", async () => {
  const run = scriptedAgent({ turn: () => done });
  for (const size of [4_000, 8_000]) await run.agent.prompt(filler(size));
  const sent: Promise<unknown>[] = [];
  const off = run.lifecycle.on("session_before_compact", () => {
    off();
    sent.push(
      run.agent.sendMessage(message("one")),
      run.agent.sendMessage(message("two"), { triggerTurn: true }),
    );
  });
  const before = run.session.leafId;
  await run.agent.compact();
  expect(await Promise.all(sent)).toMatchObject([undefined, { status: "done" }]);
  const types = run.session.path().slice(run.session.path().findIndex(({ id }) => id === before) + 1);
  expect(types.map(({ type }) => type).filter((type) => type !== "thinking_level_change")).toEqual([
    "compaction",
    "custom_message",
    "custom_message",
    "message",
  ]);
});

test("a prompt that comes while a message is stored is delivered behind it", async () => {
  const run = scriptedAgent({ turn: [done] });
  void run.agent.sendMessage(message("first"));
  expect((await run.agent.prompt("second")).status).toBe("done");
  expect(said(run.session)).toEqual(["custom first", "user second", "assistant"]);
});

test("a command that comes meanwhile waits for it, and a move in the tree too", async () => {
  const runCommand = async () => ({ output: "", exitCode: 0, cancelled: false, truncated: false });
  const run = scriptedAgent({ turn: [done], runCommand });
  await run.agent.prompt("go");
  void run.agent.sendMessage(message("first"));
  await run.agent.runUserCommand("true");
  expect(said(run.session)).toEqual(["user go", "assistant", "custom first", "bashExecution"]);
});

test("an abort stores what waited, and hands back texts alone", async () => {
  const run = scriptedAgent({ turn: [{ calls: [{ name: "echo" }, { name: "echo" }] }, done] });
  const off = run.lifecycle.on("tool_call", () => {
    off();
    void run.agent.sendMessage(message("one"));
    void run.agent.sendMessage(message("two"), { deliverAs: "followUp" });
    void run.agent.prompt("text", { behavior: "steer" });
    void run.agent.abort();
  });
  const { status, unsent } = await run.agent.prompt("go");
  expect(status).toBe("aborted");
  expect(unsent?.map(({ text }) => text)).toEqual(["text"]);
  expect(said(run.session).slice(-2)).toEqual(["custom one", "custom two"]);
  expect(said(run.session).filter((each) => each === "toolResult")).toHaveLength(2);
});

test("so does a failure, and an abort of a compaction begins no run", async () => {
  const failed = scriptedAgent({ turn: [failing] });
  failed.lifecycle.on("message_start", ({ message: told }) => {
    if (told.role === "user") void failed.agent.sendMessage(message("note"), { triggerTurn: true });
  });
  expect((await failed.agent.prompt("go")).status).toBe("failed");
  expect(said(failed.session)).toEqual(["user go", "assistant", "custom note"]);

  const run = scriptedAgent({ turn: () => done });
  for (const size of [4_000, 8_000]) await run.agent.prompt(filler(size));
  let sent: Promise<unknown> | undefined;
  run.lifecycle.on("session_before_compact", () => {
    sent = run.agent.sendMessage(message("note"), { triggerTurn: true });
    void run.agent.abort();
  });
  await run.agent.compact();
  expect(await sent).toEqual({ status: "aborted" });
  await run.agent.idle();
  expect(said(run.session).at(-1)).toBe("custom note");
  expect(run.turns).toHaveLength(2);
});

test("the run that it would have started is stopped: it is stored all the same", async () => {
  const run = scriptedAgent({ turn: [] });
  run.lifecycle.on("before_agent_start", () => void run.agent.abort());
  expect(await run.agent.sendMessage(message("note"), { triggerTurn: true })).toEqual({ status: "aborted" });
  expect(said(run.session)).toEqual(["custom note"]);
});

test("what waits when the agent is closed is stored before the session ends", async () => {
  const run = scriptedAgent({ turn: [calls(), done] });
  let closed: Promise<void> | undefined;
  const off = run.lifecycle.on("tool_call", () => {
    off();
    void run.agent.sendMessage(message("note"));
    closed = run.agent.close();
  });
  await run.agent.prompt("go");
  await closed;
  expect(said(run.session).at(-1)).toBe("custom note");
  await expect(run.agent.sendMessage(message("late"))).rejects.toMatchObject({ code: "agent_closed" });
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
  "what a full disk does not take goes with the user's next prompt: %j",
  async (options) => {
    const store = new FullStore();
    const run = scriptedAgent({ session: createSessionIn(store, { cwd: "/project" }), turn: () => done });
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

test("one that a full disk does not take during a run is stored when the run has failed", async () => {
  const store = new FullStore();
  const session = createSessionIn(store, { cwd: "/project" });
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

test.each([
  ["nothing", undefined],
  ["no type", { content: "x", display: true }],
  ["no content", { customType: "note", display: true }],
  ["content of another kind", { customType: "note", content: [{ type: "video" }], display: true }],
  ["no display", { customType: "note", content: "x" }],
  ["details that are a circle", { customType: "note", content: "x", display: true, details: circle }],
])("a message with %s is refused, and nothing is stored", async (_what, bad) => {
  const run = scriptedAgent({ turn: [] });
  await expect(run.agent.sendMessage(bad as CustomInput)).rejects.toMatchObject({
    code: "custom_message_invalid",
  });
  expect(run.session.path()).toEqual([]);
  expect(run.agent.isBusy).toBe(false);
});

test("who goes on with the object changes nothing of what was sent", async () => {
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
