import { contentText, messageText } from "@bonsai-agent/messages";
import { afterEach, expect, test, vi } from "vitest";
import { closeSessions, notified, openPiSession } from "./open-pi-session.ts";

afterEach(closeSessions);

test("an extension that imports types alone sees models in pi's names, and its drawing does no harm", async () => {
  const session = await openPiSession("types-only", {
    ui: {},
    model: { usdPerMillionTokens: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 } },
    answers: ["Four."],
  });
  expect(notified(session)).toEqual(["startup test 100000 8000 3"]);
  expect(session.ui.map(({ method, args }) => [method, args[0]])).toEqual([
    ["notify", "startup test 100000 8000 3"],
    ["setStatus", "mood"],
  ]);
  expect(session.session.name).toBe("written for pi");
  expect((await session.prompt("ping")).status).toBe("handled");
  await session.prompt("2 + 2 ?quick");
  expect(session.requests).toHaveLength(1);
  expect(messageText(session.requests[0]!.messages[0]!)).toBe("2 + 2 Answer in one sentence.");
  expect(session.notices).toEqual([]);
});

test("a TypeBox tool is checked, keeps its details, and is rebuilt from the branch", async () => {
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

test("a guard blocks where nobody can be asked, and ends the work where it says so", async () => {
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

test("prompt sections, messages, streamed text and settling are pi's", async () => {
  const session = await openPiSession("prompt-sections", { ui: {}, answers: ["Hello there."] });
  await session.prompt("Hi");
  const [request] = session.requests;
  expect(request?.systemPrompt).toMatch(
    /<advice>\nRead before you write\.\n<\/advice>\nBe brief\.\nBe kind\.$/,
  );
  expect(JSON.stringify(request?.messages)).toContain("Changed in place.");
  expect(session.session.entries()).toContainEqual(
    expect.objectContaining({
      type: "custom_message",
      customType: "note",
      content: "A note.",
      display: true,
    }),
  );
  await session.command("/settled");
  expect(notified(session)).toEqual(["Hello there. [Hello there.] agent_settled true"]);
  expect(session.notices).toEqual([]);
});

test("types among imported values, the old name of TypeBox, and the old way to a key", async () => {
  const session = await openPiSession("old-style", { ui: {} });
  await session.command('/check {"count": 2}');
  await session.command('/check {"count": 0}');
  await session.command("/key");
  expect(notified(session)).toEqual(["fits", "does not fit", "k1 undefined"]);
});

test("a provider with a stream of its own answers through the registry", async () => {
  const session = await openPiSession("provider", { ui: {} });
  await session.command("/ask-parrot hello");
  expect(notified(session)).toEqual([
    "parrot with literal-key heard: hello (true) for 2",
    "start text_start text_delta text_end done",
  ]);
  expect(session.notices).toEqual([]);
});

test("Bonsai's own tools can be wrapped, and run elsewhere", async () => {
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

test("a user's command is run by the extension, or where it says", async () => {
  const session = await openPiSession("tool-override");
  const run = session.agent.runUserCommand.bind(session.agent);
  expect(await run("i vim")).toMatchObject({ output: "handled", exitCode: 2, cancelled: false });
  const shown: string[] = [];
  const far = await run("far away 2>&1 || echo $0; exit 3", { onOutput: (text) => shown.push(text) });
  expect(far).toMatchObject({ output: expect.stringMatching(/not found[\s\S]*bash/), exitCode: 3 });
  expect(shown.join("")).toBe(far.output);
  expect(session.notices).toEqual([]);
});

test("a user's command that was to be run elsewhere, but is not said where, is not run here", async () => {
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

test("a command hands over to a new session, whose context can send messages", async () => {
  const control = {
    newSession: async () => true,
    fork: async () => false,
    switchSession: async () => false,
    navigateTree: async () => false,
    mergeBranch: async () => ({ cancelled: true }),
  };
  const session = await openPiSession("handoff", { ui: {}, control, answers: ["I go on."] });
  await session.command("/handoff Go on.");
  await session.agent.idle();
  expect(notified(session)).toEqual(["handed over with 8000"]);
  expect(messageText(session.requests[0]!.messages.at(-1)!)).toBe("Go on.");
  await expect(session.command("/setup")).rejects.toMatchObject({ cause: { code: "pi_method_missing" } });
});

test("events of earlier versions of pi come with their successor", async () => {
  const session = await openPiSession("earlier-events", { ui: {} });
  for (const reason of ["new", "fork", "resume", "reload"] as const)
    await session.lifecycle.notify("session_start", {
      type: "session_start",
      reason,
      previousSessionFile: `${reason}.jsonl`,
    });
  expect(notified(session)).toEqual([
    "session_switch new new.jsonl",
    "session_fork fork.jsonl",
    "session_switch resume resume.jsonl",
  ]);
  const { result } = await session.lifecycle.decide("session_before_fork", {
    type: "session_before_fork",
    entryId: "a",
    position: "at",
  });
  expect(result?.cancel).toBeUndefined();
  expect(session.notices).toEqual([]);
});

test("messages come in blocks, and a turn ends with its context; what its handlers add is added", async () => {
  const session = await openPiSession("turn-end", { ui: {}, answers: ["One.", "More."] });
  await session.prompt("Go.");
  await session.command("/seen");
  expect(String(notified(session)[0]).split("\n")).toEqual([
    "turn 0",
    ...["start user text", "end user text", "context user text"],
    ...["start assistant ", "end assistant text"],
    ...["turn 0 completed 0 user,assistant false", "of message,message"],
    "turn 1",
    ...["start custom text", "end custom text", "context user text,assistant text,custom text"],
    ...["start assistant ", "end assistant text"],
    ...[
      "turn 1 completed 0 user,assistant,custom,assistant false",
      "of message,message,custom_message,message",
    ],
    "all user text,assistant text,custom text,assistant text",
  ]);
  expect(session.session.entries()).toContainEqual(
    expect.objectContaining({ type: "custom", customType: "mark", data: 1 }),
  );
  expect(session.notices).toEqual([]);
});

test("a text that calls a command runs it where templates are to be expanded, also at the end of a run", async () => {
  const session = await openPiSession("commands-sent", {
    ui: {},
    answers: [{ calls: [{ name: "ask_for_it", arguments: {} }] }, "Done."],
  });
  const { extensions, requests } = session;
  const reload = vi.spyOn(extensions, "reload");
  await session.prompt("Go.");
  await vi.waitFor(() => expect(reload).toHaveBeenCalledOnce());
  await reload.mock.results[0]?.value;
  await session.command("/send /again with words");
  await vi.waitFor(() => expect(reload).toHaveBeenCalledTimes(2));
  await reload.mock.results[1]?.value;
  expect(notified(session)).toEqual(["again and on", "again with words"]);
  expect(requests).toHaveLength(1);
  await session.command("/send /nothing of that name");
  await session.agent.idle();
  expect(messageText(requests[1]!.messages.at(-1)!)).toBe("/nothing of that name");
  expect(session.notices).toEqual([]);
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

test("what is done in vain is one notice, with the reason", async () => {
  const session = await openPiSession("in-vain", { ui: {}, answers: ["One.", "Two."] });
  await session.prompt("One?");
  await session.prompt("Two?");
  expect(session.notices.map(({ code, message }) => [code, message.replace(/^\S+/, "…")])).toEqual([
    ["pi_not_supported", expect.stringContaining("project_trust, which Bonsai never sends")],
    ["pi_not_supported", expect.stringContaining("registerMarkdownTransformer, which has no effect")],
    ["pi_not_supported", expect.stringContaining("adds an entry of type compaction at the end of a turn")],
    ["pi_not_supported", expect.stringContaining("requests another turn without a message")],
  ]);
  await expect(session.command("/provider")).rejects.toMatchObject({
    cause: { code: "pi_method_missing", hint: expect.stringContaining("registerProvider") },
  });
});

test("names of later versions of pi that have no place here are a notice, and the rest works", async () => {
  const session = await openPiSession("later-names", { ui: {}, answers: ["One."] });
  await session.prompt("One?");
  expect(JSON.stringify(session.requests[0]?.messages)).toContain("A user message.");
  expect(session.notices.map(({ code, message }) => [code, message.replace(/^\S+/, "…")])).toEqual([
    ["pi_not_supported", expect.stringMatching(/registerVirtualModel, .* registerProvider/)],
    ["pi_not_supported", expect.stringMatching(/registerMcpServer, .* @bonsai-agent\/mcp/)],
    ["pi_not_supported", expect.stringMatching(/registerToolRenderer, .* renderCall/)],
    ["pi_not_supported", expect.stringMatching(/provider_stream_event, .* message_update/)],
  ]);
  await session.command("/later");
  expect(notified(session)).toEqual(['[[],"\\u001b[7mx\\u001b[27m"]']);
});

test("an export that Bonsai has no place for is named, with what to use instead", async () => {
  const { extensions } = await openPiSession("missing-export");
  expect(extensions.failed).toMatchObject([
    {
      error: {
        code: "extension_export_missing",
        message: expect.stringContaining("no export named createAgentSessionRuntime"),
        hint: expect.stringContaining("--mode rpc"),
      },
    },
  ]);
});

test("nothing of an unloaded extension is left", async () => {
  const session = await openPiSession(["permission-gate", "provider", "todo"], { ui: { select: "Yes" } });
  session.extensions.unload();
  expect(session.extensions.commands).toEqual([]);
  expect(session.agent.tools.names).not.toContain("todo");
});
