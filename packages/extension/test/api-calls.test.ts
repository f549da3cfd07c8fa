import { setImmediate as turn } from "node:timers/promises";
import { messageText } from "@bonsai-agent/messages";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import type { ExtensionAPI } from "../src/index.ts";
import { openTestSession } from "../src/testing/index.ts";
import { saying } from "./test-tool.ts";

/** An extension whose API a test holds in its hands. */
function held() {
  const box: { api?: ExtensionAPI } = {};
  const extension = (bonsai: ExtensionAPI) => {
    box.api = bonsai;
  };
  return { extension, api: () => box.api! };
}

const forAgent: [string, (bonsai: ExtensionAPI) => unknown][] = [
  ["sendMessage", (b) => b.sendMessage({ customType: "x", content: "y", display: true })],
  ["sendUserMessage", (b) => b.sendUserMessage("y")],
  ["getActiveTools", (b) => b.getActiveTools()],
  ["getAllTools", (b) => b.getAllTools()],
  ["setActiveTools", (b) => b.setActiveTools([])],
  ["setModel", (b) => b.setModel({} as never)],
  ["getThinkingLevel", (b) => b.getThinkingLevel()],
  ["setThinkingLevel", (b) => b.setThinkingLevel("off")],
];
const forSession: typeof forAgent = [
  ["appendEntry", (b) => b.appendEntry("x")],
  ["setSessionName", (b) => b.setSessionName("x")],
  ["getSessionName", (b) => b.getSessionName()],
  ["setLabel", (b) => b.setLabel("x", "y")],
];
const always: typeof forAgent = [
  ["on", (b) => b.on("input", () => {})],
  ["registerTool", (b) => b.registerTool(saying("x"))],
  ["registerCommand", (b) => b.registerCommand("x", { handler() {} })],
  ["registerFlag", (b) => b.registerFlag("x", { type: "boolean" })],
  ["getFlag", (b) => b.getFlag("x")],
  ["registerShortcut", (b) => b.registerShortcut("x", { handler() {} })],
  ["registerProvider", (b) => b.registerProvider("x", {})],
  ["unregisterProvider", (b) => b.unregisterProvider("x")],
  ["getCommands", (b) => b.getCommands()],
  ["exec", (b) => b.exec("true", [])],
  ["events.emit", (b) => b.events.emit("x")],
  ["events.on", (b) => b.events.on("x", () => {})],
];

/** The error of a call, thrown or rejected. */
async function thrown(call: () => unknown): Promise<unknown> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return error;
  }
}

test("a call that needs a session fails while the module loads", () =>
  everyRow([...forAgent, ...forSession])(async ([name, call]) => {
    let error: unknown;
    await using _session = await openTestSession({
      async extensions(bonsai) {
        error = await thrown(() => call(bonsai));
      },
    });
    expect(error).toMatchObject({
      code: "extension_not_started",
      message: `inline:extensions-1 called ${name} before a session was open.`,
    });
  }));

test("every call fails after the extension was unloaded", () =>
  everyRow([...forAgent, ...forSession, ...always])(async ([name, call]) => {
    const { extension, api } = held();
    await using session = await openTestSession({ extensions: extension });
    session.extensions.unload();
    expect(await thrown(() => call(api()))).toMatchObject({
      code: "extension_unloaded",
      message: `inline:extension-1 called ${name} after it was unloaded.`,
    });
  }));

test("a call that needs an agent fails without one", () =>
  everyRow(forAgent)(async ([name, call]) => {
    const { extension, api } = held();
    await using _session = await openTestSession({ extensions: extension, withAgent: false });
    expect(await thrown(() => call(api()))).toMatchObject({
      code: "extension_needs_agent",
      message: `inline:extension-1 called ${name}, but no agent is running here.`,
      hint: expect.stringContaining("bonsai compact"),
    });
  }));

test("stores entries, names and labels in the session, with and without an agent", () =>
  everyRow([true, false])(async (withAgent) => {
    const { extension, api } = held();
    const seen: unknown[] = [];
    await using session = await openTestSession({
      extensions: [
        extension,
        (bonsai) => void bonsai.on("session_info_changed", ({ name }) => void seen.push(name)),
      ],
      withAgent,
    });
    const id = api().appendEntry("mine", { count: 1 });
    expect(session.session.entry(id)).toMatchObject({
      type: "custom",
      customType: "mine",
      data: { count: 1 },
    });
    api().setLabel(id, "here");
    expect(session.session.label(id)).toBe("here");
    api().setLabel(id, undefined);
    expect(session.session.label(id)).toBeUndefined();
    api().setSessionName("Work");
    expect(api().getSessionName()).toBe("Work");
    expect(seen).toEqual(["Work"]);
  }));

/** Cannot be shown as JSON. */
function round(): object {
  const object = { self: {} };
  object.self = object;
  return object;
}

test("a call with a wrong argument fails and stores nothing", () =>
  everyRow<[string, (bonsai: ExtensionAPI) => unknown]>([
    ["appendEntry", (b) => b.appendEntry(undefined as never)],
    ["setSessionName", (b) => b.setSessionName(7 as never)],
    ["setLabel", (b) => b.setLabel("nowhere", "x")],
    ["setActiveTools", (b) => b.setActiveTools("read" as never)],
    ["setThinkingLevel", (b) => b.setThinkingLevel("loud" as never)],
    ["sendUserMessage", (b) => b.sendUserMessage(undefined as never)],
    ["sendUserMessage", (b) => b.sendUserMessage([{ type: "text" }] as never)],
    ["setLabel", (b) => b.setLabel(null as never, "x")],
    ["setActiveTools", (b) => b.setActiveTools([7] as never)],
    ["setModel", (b) => b.setModel(undefined as never)],
    ["setModel", (b) => b.setModel("scripted/test" as never)],
    ["events.on", (b) => b.events.on("channel", undefined as never)],
    ["setSessionName", (b) => b.setSessionName(round() as never)],
  ])(async ([name, call]) => {
    const { extension, api } = held();
    await using session = await openTestSession({ extensions: extension });
    const { leafId } = session.session;
    expect(await thrown(() => call(api()))).toMatchObject({
      code: "extension_argument_invalid",
      message: expect.stringContaining(`inline:extension-1 called ${name} with `),
    });
    expect(session.session.leafId).toBe(leafId);
  }));

test("sendUserMessage starts a run, or steers the current one", async () => {
  const { extension, api } = held();
  await using session = await openTestSession({
    extensions: [
      extension,
      (bonsai) =>
        void bonsai.on("tool_call", () => api().sendUserMessage([{ type: "text", text: "And hurry." }])),
    ],
    answers: [{ calls: [{ name: "ls" }] }, "Done.", "Hurried."],
  });
  api().sendUserMessage("Look around.");
  await session.agent.idle();
  const said = session.requests.at(-1)!.messages.filter(({ role }) => role === "user");
  expect(said.map((message) => messageText(message))).toEqual(["Look around.", "And hurry."]);
  expect(session.notices).toEqual([]);
});

test("sendMessage adds the extension's message to the conversation", async () => {
  const { extension, api } = held();
  await using session = await openTestSession({ extensions: extension, answers: ["Seen."] });
  api().sendMessage({ customType: "hint", content: "Mind the gap.", display: false }, { triggerTurn: true });
  await session.agent.idle();
  const entry = session.session.entries().find(({ type }) => type === "custom_message");
  expect(entry).toMatchObject({ customType: "hint", content: "Mind the gap.", display: false });
  expect(session.requests).toHaveLength(1);
});

test("a failed message is a notice that names the extension", async () => {
  const { extension, api } = held();
  const session = await openTestSession({ extensions: extension });
  await session.agent.close();
  api().sendUserMessage("Hello?");
  api().sendMessage({ customType: "x", content: "y", display: true });
  await turn();
  expect(session.notices.map(({ code, message }) => `${code} ${message}`)).toEqual([
    "extension_call_failed sendUserMessage of inline:extension-1 failed: The agent and its session are closed.",
    "extension_call_failed sendMessage of inline:extension-1 failed: The agent and its session are closed.",
  ]);
  await session.close();
});

test("a failed run of an extension is a notice", async () => {
  const { extension, api } = held();
  await using session = await openTestSession({
    extensions: extension,
    answers: [{ error: { status: 400, message: "No such model." } }],
  });
  api().sendUserMessage("Hello?");
  await session.agent.idle();
  await turn();
  expect(session.notices.at(-1)).toMatchObject({ code: "extension_call_failed" });
  expect(session.notices.at(-1)?.message).toContain("No such model.");
});

test("the model gets the tools that an extension chose, and later ones", async () => {
  const { extension, api } = held();
  await using session = await openTestSession({ extensions: extension });
  const all = api().getActiveTools();
  api().registerTool(saying("mine"));
  api().setActiveTools(["read", "mine", "unknown"]);
  expect(api().getActiveTools()).toEqual(["mine", "read"]);
  const undo = api().registerTool(saying("late"));
  expect(api().getActiveTools()).toEqual(["late", "mine", "read"]);
  undo();
  api().setActiveTools(["ls"]);
  expect(api().getActiveTools()).toEqual(["ls"]);
  const own = api()
    .getAllTools()
    .filter(({ extensionPath }) => extensionPath !== undefined);
  expect(own).toMatchObject([{ name: "mine", extensionPath: "inline:extension-1" }]);
  const bash = () =>
    api()
      .getAllTools()
      .find(({ name }) => name === "bash")!;
  expect(bash()).toMatchObject({
    description: expect.stringMatching(/\w/),
    parameters: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
  });
  (bash().parameters.properties as { command?: unknown }).command = undefined;
  expect(bash().parameters.properties).toMatchObject({ command: { type: "string" } });
  session.extensions.unload();
  expect(session.agent.tools.active).toEqual(all);
});

test("a user's later choice of tools stays after the extension is unloaded", async () => {
  const { extension, api } = held();
  await using session = await openTestSession({ extensions: extension });
  api().setActiveTools(["read"]);
  session.agent.tools.setActive(["bash"]);
  session.extensions.unload();
  expect(session.agent.tools.active).toEqual(["bash"]);
});

test("setModel sets a model only with a key", async () => {
  const { extension, api } = held();
  await using session = await openTestSession({
    extensions: extension,
    otherModels: [{ id: "other" }],
  });
  const { model } = session.agent;
  const other = { ...model, id: "other" };
  const far = { provider: "far", apiKeyEnv: "FAR_KEY", baseUrl: "https://far.example" };
  const locked = { ...model, ...far, api: "openai-chat" as const, id: "locked" };
  expect(await api().setModel(other)).toBe(true);
  expect(session.agent.model.id).toBe("other");
  expect(await api().setModel(locked)).toBe(false);
  expect(session.agent.model.id).toBe("other");
  api().setThinkingLevel("high");
  expect(api().getThinkingLevel()).toBe("high");
});

test("messages between extensions arrive in order; a failing handler disturbs no other", async () => {
  const { extension, api } = held();
  const got: unknown[] = [];
  const listener = (bonsai: ExtensionAPI) => {
    bonsai.events.on("news", () => {
      throw new Error("not I");
    });
    bonsai.events.on("news", async () => Promise.reject(new Error("nor I")));
    bonsai.events.on("news", (data) => void got.push(data));
    const undo = bonsai.events.on("news", () => void got.push("never"));
    undo();
    undo();
  };
  await using session = await openTestSession({ extensions: [extension, listener] });
  api().events.emit("news", 1);
  api().events.emit("other", 2);
  await turn();
  expect(got).toEqual([1]);
  expect(session.notices.map(({ code, message }) => `${code} ${message}`).sort()).toEqual([
    "extension_listener_failed The listener of inline:listener-2 on news failed: nor I",
    "extension_listener_failed The listener of inline:listener-2 on news failed: not I",
  ]);
});

test("exec runs a program in the working folder", async () => {
  const { extension, api } = held();
  await using session = await openTestSession({ extensions: extension });
  const { code, stdout } = await api().exec("pwd", [], { cwd: undefined, timeout: undefined });
  expect({ code, stdout: stdout.trim() }).toEqual({ code: 0, stdout: session.cwd });
});
