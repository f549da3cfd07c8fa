import { expect, test } from "vitest";
import { calls, done, filler, scriptedAgent } from "./scripted-agent.ts";
import { message, said } from "./sent-message.ts";
import { shellSaying } from "./shell-saying.ts";

const failing = { error: { status: 401, message: "invalid key" } };

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

test("a message that triggers nothing does not make its sender wait for the run", async () => {
  const run = scriptedAgent({ turn: () => done });
  const settled: string[] = [];
  const runEnded = Promise.withResolvers<void>();
  run.lifecycle.on("turn_start", () => {
    // Outside of the handler, so that the sender may wait for the run.
    setImmediate(() => {
      const sent = run.agent.sendMessage(message("note"), { triggerTurn: false });
      void sent.then((result) => {
        settled.push(`message: ${result?.status}`);
        runEnded.resolve();
      });
    });
    return runEnded.promise;
  });
  await run.agent.prompt("go").then(({ status }) => settled.push(`run: ${status}`));
  expect(settled).toEqual(["message: undefined", "run: done"]);
});

test("several steering messages go in together, before the text that came after them", async () => {
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

test("a message that asks for no turn is stored after the last answer, and no request follows", async () => {
  const run = scriptedAgent({ turn: () => done });
  const off = run.lifecycle.on("turn_end", () => {
    off();
    void run.agent.sendMessage(message("note"), { triggerTurn: false });
  });
  await run.agent.prompt("go");
  expect(said(run.session)).toEqual(["user go", "assistant", "custom note"]);
  expect(run.turns).toHaveLength(1);
});

test("a message sent during a compaction waits; then it is stored, or worked on", async () => {
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
  const run = scriptedAgent({ turn: [done], shell: shellSaying("") });
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

test("a failure stores what waited too, and an abort of a compaction begins no run", async () => {
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

test("closing the agent stores waiting messages before the session ends", async () => {
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
