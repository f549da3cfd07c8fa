import { messageText } from "@bonsai-agent/messages";
import { afterEach, expect, test, vi } from "vitest";
import { closeSessions, notified, openPiSession } from "./open-pi-session.ts";

afterEach(closeSessions);

test("an extension that imports only types of pi gets models in pi's shape", async () => {
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

test("prompt sections, messages, streamed text and agent_settled have pi's shapes", async () => {
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

test("old imports work: types among values, @sinclair/typebox and getApiKey", async () => {
  const session = await openPiSession("old-style", { ui: {} });
  await session.command('/check {"count": 2}');
  await session.command('/check {"count": 0}');
  await session.command("/key");
  expect(notified(session)).toEqual(["fits", "does not fit", "k1 undefined"]);
});

test("a provider with streamSimple answers through the registry", async () => {
  const session = await openPiSession("provider", { ui: {} });
  await session.command("/ask-parrot hello");
  expect(notified(session)).toEqual([
    "parrot with literal-key heard: hello (true) for 2",
    "start text_start text_delta text_end done",
  ]);
  expect(session.notices).toEqual([]);
});

test("the context of a new session can send messages", async () => {
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

test("events of earlier versions of pi fire with session_start", async () => {
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

test("messages have blocks, and handlers of turn_end get a context and add entries", async () => {
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

test("sendUserMessage with expandPromptTemplates runs commands", async () => {
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

test("an unsupported call is one notice with its reason", async () => {
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

test("an unsupported method of later versions is a notice, and the rest works", async () => {
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

test("a missing export fails with its replacement", async () => {
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

test("an unloaded extension leaves no commands and tools", async () => {
  const session = await openPiSession(["permission-gate", "provider", "todo"], { ui: { select: "Yes" } });
  session.extensions.unload();
  expect(session.extensions.commands).toEqual([]);
  expect(session.agent.tools.names).not.toContain("todo");
});
