import { contentText, messageText } from "@bonsai-agent/messages";
import { afterEach, expect, test } from "vitest";
import { closeSessions, notified, openPiSession } from "./open-pi-session.ts";

afterEach(closeSessions);

test("a TypeBox tool checks its arguments and keeps its details in the session", async () => {
  const answers = [
    { calls: [{ name: "todo", arguments: { action: "add", text: "buy milk" } }] },
    { calls: [{ name: "todo", arguments: { action: "drop" } }] },
    "Noted.",
  ];
  const session = await openPiSession("todo", { ui: {}, answers });
  await session.prompt("Remember the milk.");
  const results = session.session
    .entries()
    .flatMap((entry) =>
      entry.type === "message" && entry.message.role === "toolResult" ? [entry.message] : [],
    );
  expect(results).toMatchObject([
    { isError: false, content: [{ text: "#1 buy milk" }], details: { todos: [{ id: 1, text: "buy milk" }] } },
    { isError: true },
  ]);
  const declared = session.requests[0]?.tools.find(({ name }) => name === "todo");
  expect(declared?.parameters).toMatchObject({
    type: "object",
    required: ["action"],
    properties: { action: { type: "string", enum: ["add", "list"], description: "What to do" } },
  });
  await session.extensions.reload();
  await session.command("/todos");
  expect(notified(session)).toEqual(["buy milk"]);
  expect(session.notices).toEqual([]);
});

test("a guard asks through ctx.ui, changes input in place, and adds to results", async () => {
  const call = (command: string) => ({ calls: [{ name: "bash", arguments: { command } }] });
  const session = await openPiSession("permission-gate", {
    ui: { select: ["No"] },
    answers: [call("rm -rf build"), call("echo hello"), "Done."],
  });
  await session.prompt("Clean up.");
  const texts = session.requests
    .at(-1)
    ?.messages.flatMap((message) => (message.role === "toolResult" ? [contentText(message.content)] : []));
  expect(texts).toEqual([
    expect.stringContaining("Blocked by user"),
    expect.stringMatching(/hello[\s\S]*\(checked\)/),
  ]);
  await session.command("/asked");
  expect(notified(session)).toEqual(["start select, end select"]);
  expect(session.notices).toEqual([]);
});

test("a guard blocks without a user, and can end the run", async () => {
  const session = await openPiSession("permission-gate", {
    answers: [{ calls: [{ name: "bash", arguments: { command: "sudo true" } }] }, "Unasked."],
  });
  await session.prompt("Be root.");
  const last = session.session.entries().at(-1);
  expect(last).toMatchObject({ message: { role: "toolResult", isError: true } });
  expect(JSON.stringify(last)).toContain("nobody to ask");
  expect(session.requests).toHaveLength(1);
  expect(session.notices).toEqual([]);
});

test("an extension wraps Bonsai's tools and runs them elsewhere", async () => {
  const session = await openPiSession("tool-override", {
    answers: [
      { calls: [{ name: "read", arguments: { path: "missing.txt" } }] },
      { calls: [{ name: "bash", arguments: { command: "uname" } }] },
      { calls: [{ name: "bash", arguments: { command: "false" } }] },
      "Done.",
    ],
  });
  await session.prompt("Look around.");
  const results = session.requests
    .at(-1)
    ?.messages.flatMap((message) => (message.role === "toolResult" ? [message] : []));
  expect(results).toMatchObject([
    { isError: true },
    { isError: false, content: [{ text: "elsewhere: uname in the project" }] },
    { isError: true },
  ]);
  expect(session.session.entries()).toContainEqual(
    expect.objectContaining({ customType: "read-log", data: { path: "missing.txt" } }),
  );
});

test("an extension runs a user's command, or names operations for it", async () => {
  const session = await openPiSession("tool-override");
  const run = session.agent.runUserCommand.bind(session.agent);
  expect(await run("i vim")).toMatchObject({ output: "handled", exitCode: 2, cancelled: false });
  const shown: string[] = [];
  const far = await run("far away 2>&1 || echo $0; exit 3", { onOutput: (text) => shown.push(text) });
  expect(far).toMatchObject({ output: expect.stringMatching(/not found[\s\S]*bash/), exitCode: 3 });
  expect(shown.join("")).toBe(far.output);
  expect(session.notices).toEqual([]);
});

test("an unclear answer to user_bash blocks the command", async () => {
  const session = await openPiSession("tool-override");
  const answers = [
    {},
    { operations: null },
    { operations: {} },
    { result: null },
    { operations: {}, result: { output: "handled", exitCode: 0 } },
  ];
  for (const answer of answers)
    await expect(session.agent.runUserCommand(`odd ${JSON.stringify(answer)}`)).rejects.toMatchObject({
      code: "command_blocked",
    });
  expect(session.session.entries().filter(({ type }) => type === "message")).toEqual([]);
});

test("the error of a tool without pi's files explains how to run without them", async () => {
  const names = ["throws", "returns", "other", "mentions"];
  const session = await openPiSession("background", {
    answers: [...names.map((name) => ({ calls: [{ name, arguments: {} }] })), "Done."],
  });
  await session.prompt("Go.");
  const results = session.requests
    .at(-1)
    ?.messages.flatMap((message) => (message.role === "toolResult" ? [messageText(message)] : []));
  expect(results?.map((text) => text.includes("async: false"))).toEqual([true, true, false, false]);
});
