import { rmSync } from "node:fs";
import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test, vi } from "vitest";
import type { ExtensionAPI, ExtensionUI } from "../src/index.ts";
import { openTestSession, type TestSession } from "../src/testing/index.ts";
import { scratchModules } from "./scratch.ts";
import { saying } from "./test-tool.ts";

const commandModule = (name: string) => [
  `export default (bonsai) => bonsai.registerCommand("${name}", { handler() {} });`,
];

test("a reload reads the files again, between session_shutdown and session_start", async () => {
  using modules = scratchModules();
  const path = modules.write("changing.ts", commandModule("before"));
  const events: string[] = [];
  await using session = await openTestSession({
    extensions: [
      (bonsai) => {
        bonsai.on("session_shutdown", ({ reason }) => void events.push(`shutdown ${reason}`));
        bonsai.on("session_start", ({ reason }) => void events.push(`start ${reason}`));
        events.push("loaded");
      },
      path,
    ],
  });
  const names = () => session.extensions.commands.map(({ name }) => name);
  expect(names()).toEqual(["before"]);
  modules.write("changing.ts", commandModule("after"));
  const report = await session.extensions.reload();
  expect(names()).toEqual(["after"]);
  expect(report).toMatchObject({
    loaded: [{ path: "inline:extension-1" }, { path, origin: "flag", loadMs: expect.any(Number) }],
    failed: [],
    elapsedMs: expect.any(Number),
  });
  expect(events).toEqual(["loaded", "start startup", "shutdown reload", "loaded", "start reload"]);
});

test("an extension that fails at a reload is reported, the others load; corrected, it returns", async () => {
  using modules = scratchModules();
  const path = modules.write("a.ts", commandModule("a"));
  const other = modules.write("b.ts", commandModule("b"));
  await using session = await openTestSession({ extensions: [path, other] });
  const names = () => session.extensions.commands.map(({ name }) => name);
  modules.write("a.ts", ["export default () => {", '  throw new Error("broken now");', "}"]);
  expect(await session.extensions.reload()).toMatchObject({
    loaded: [{ path: other }],
    failed: [{ path, error: { code: "extension_failed" } }],
  });
  expect(session.notices.at(-1)?.message).toContain("a.ts:2:9: broken now");
  expect(names()).toEqual(["b"]);
  rmSync(path);
  expect((await session.extensions.reload()).failed).toMatchObject([
    { error: { code: "extension_not_found" } },
  ]);
  modules.write("a.ts", commandModule("a"));
  expect((await session.extensions.reload()).failed).toEqual([]);
  expect(session.extensions.failed).toEqual([]);
  expect(names()).toEqual(["a", "b"]);
});

test("a second reload joins the one under way", async () => {
  let loads = 0;
  await using session = await openTestSession({
    extensions: () => {
      loads += 1;
    },
  });
  const [one, two] = await Promise.all([session.extensions.reload(), session.extensions.reload()]);
  expect(one).toBe(two);
  expect(loads).toBe(2);
  await session.extensions.reload();
  expect(loads).toBe(3);
});

test("a command can reload; later calls of its old API are refused", async () => {
  let loads = 0;
  await using session = await openTestSession({
    extensions(bonsai) {
      loads += 1;
      bonsai.registerCommand("again", {
        async handler(_args, ctx) {
          await ctx.reload();
          bonsai.appendEntry("late");
        },
      });
    },
  });
  await expect(session.command("/again")).rejects.toMatchObject({
    code: "extension_command_failed",
    cause: { code: "extension_unloaded" },
  });
  expect(loads).toBe(2);
});

test("a reload waits until the agent is idle", async () => {
  const order: string[] = [];
  const held = Promise.withResolvers<void>();
  const calledTool = Promise.withResolvers<void>();
  await using session = await openTestSession({
    extensions(bonsai) {
      order.push("loaded");
      bonsai.on("agent_end", () => void order.push("run ended"));
      bonsai.registerTool({
        ...saying("hold"),
        async execute() {
          calledTool.resolve();
          await held.promise;
          return { content: [] };
        },
      });
    },
    answers: [{ calls: [{ name: "hold" }] }, "Done."],
  });
  const running = session.prompt("Go.");
  await calledTool.promise;
  const reloading = session.extensions.reload();
  held.resolve();
  await Promise.all([running, reloading]);
  expect(order).toEqual(["loaded", "run ended", "loaded"]);
});

test("a run that starts while extensions load waits for their guards", async () => {
  const seen: string[] = [];
  const gate = Promise.withResolvers<void>();
  const reloads = Promise.withResolvers<void>();
  let isReload = false;
  const guard = async (bonsai: ExtensionAPI) => {
    if (isReload) {
      reloads.resolve();
      await gate.promise;
    }
    const kind = isReload ? "new" : "old";
    bonsai.on("input", ({ text }) => {
      seen.push(`${kind} ${text}`);
      return { action: "transform", text: `${text}, guarded` };
    });
  };
  await using session = await openTestSession({ extensions: guard, answers: ["Yes."] });
  isReload = true;
  const reloading = session.extensions.reload();
  await reloads.promise;
  const running = session.prompt("Now");
  gate.resolve();
  await reloading;
  expect(await running).toMatchObject({ status: "done" });
  expect(seen).toEqual(["new Now"]);
  expect(session.requests[0]?.messages.at(-1)).toMatchObject({ content: "Now, guarded" });
});

/** Events that ask extensions, and a way to cause them. */
const heldEvents = {
  input: (session: TestSession) => session.prompt("Now"),
  before_agent_start: (session: TestSession) => session.prompt("Now"),
  context: (session: TestSession) => session.prompt("Now"),
  before_provider_request: (session: TestSession) => session.prompt("Now"),
  tool_call: (session: TestSession) => session.prompt("Now"),
  tool_result: (session: TestSession) => session.prompt("Now"),
  message_end: (session: TestSession) => session.prompt("Now"),
  session_before_compact: (session: TestSession) => session.agent.compact(),
  session_before_tree: (session: TestSession) => session.agent.navigate(session.session.path()[0]!.id),
};

test("each event that asks extensions waits while they load", () =>
  everyRow(Object.entries(heldEvents))(async ([event, happen]) => {
    const seen: string[] = [];
    const gate = Promise.withResolvers<void>();
    const reloads = Promise.withResolvers<void>();
    let kind = "old";
    const guard = async (bonsai: ExtensionAPI) => {
      const own = kind;
      if (own === "new") {
        reloads.resolve();
        await gate.promise;
      }
      bonsai.on(event as "input", () => void seen.push(own));
    };
    await using session = await openTestSession({
      extensions: guard,
      session: history("U A | U A").session,
      settings: { compaction: { keepRecentTokens: 1 } },
      answers: [{ calls: [{ name: "ls" }] }, "Done."],
    });
    kind = "new";
    const reloading = session.extensions.reload();
    await reloads.promise;
    const happening = happen(session);
    // Whatever goes on without asking has its time.
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(seen).toEqual([]);
    gate.resolve();
    await reloading;
    await happening;
    expect(new Set(seen)).toEqual(new Set(["new"]));
  }));

test("a handler of session_shutdown that hangs is abandoned after five seconds", async () => {
  vi.useFakeTimers();
  try {
    const called = Promise.withResolvers<AbortSignal>();
    let loads = 0;
    await using session = await openTestSession({
      extensions(bonsai) {
        loads += 1;
        bonsai.on("session_shutdown", ({ reason }, { signal }) => {
          if (reason !== "reload") return undefined;
          called.resolve(signal!);
          return new Promise(() => {});
        });
      },
    });
    const reloading = session.extensions.reload();
    const signal = await called.promise;
    await vi.advanceTimersByTimeAsync(4_999);
    expect([signal.aborted, loads]).toEqual([false, 1]);
    await vi.advanceTimersByTimeAsync(1);
    await reloading;
    expect([signal.aborted, loads]).toEqual([true, 2]);
  } finally {
    vi.useRealTimers();
  }
});

test("unloading while extensions load stops after the one that is loading", async () => {
  const gate = Promise.withResolvers<void>();
  const called = Promise.withResolvers<void>();
  let isReload = false;
  const slow = async (bonsai: ExtensionAPI) => {
    if (isReload) {
      called.resolve();
      await gate.promise;
    }
    bonsai.registerCommand("slow", { handler() {} });
  };
  const next = (bonsai: ExtensionAPI) => void bonsai.registerCommand("next", { handler() {} });
  await using session = await openTestSession({ extensions: [slow, next] });
  isReload = true;
  const reloading = session.extensions.reload();
  await called.promise;
  session.extensions.unload();
  gate.resolve();
  expect(await reloading).toMatchObject({ loaded: [], failed: [] });
  expect(session.extensions.commands).toEqual([]);
  expect(session.notices).toEqual([]);
});

test("a reload's tools are in the current agent", async () => {
  await using session = await openTestSession({
    extensions: (bonsai) => void bonsai.registerTool(saying("mine")),
  });
  await using other = await openTestSession();
  const { tools } = other.agent;
  const before = tools.names;
  session.extensions.attach(other.agent);
  expect(session.agent.tools.names).not.toContain("mine");
  await session.extensions.reload();
  expect(session.agent.tools.names).not.toContain("mine");
  expect(tools.names).toEqual([...before, "mine"].sort());
  session.extensions.unload();
  expect(tools.names).toEqual(before);
});

test("an extension's widgets disappear with it, others stay", async () => {
  const uis: ExtensionUI[] = [];
  const showing = (name: string) => (bonsai: ExtensionAPI) =>
    void bonsai.registerCommand(name, {
      handler(_args, { ui }) {
        uis.push(ui);
        ui.setStatus(name, "on");
        ui.setStatus(name, "still on");
        ui.setStatus("shared", name);
        ui.setWidget(name, ["line"], { placement: "belowEditor" });
        ui.setStatus("gone", name);
        ui.setStatus("gone", undefined);
      },
    });
  await using session = await openTestSession({ extensions: [showing("a"), showing("b")], ui: {} });
  await session.command("/a");
  await session.command("/b");
  const made = session.ui.length;
  session.extensions.unload();
  expect(session.ui.slice(made)).toEqual([
    { method: "setWidget", args: ["b", undefined, { placement: "belowEditor" }] },
    { method: "setStatus", args: ["shared", undefined] },
    { method: "setStatus", args: ["b", undefined] },
    { method: "setWidget", args: ["a", undefined, { placement: "belowEditor" }] },
    { method: "setStatus", args: ["a", undefined] },
  ]);
  const after = session.ui.length;
  uis[0]!.setStatus("late", "on");
  uis[0]!.setWidget("late", ["on"]);
  expect(session.ui.length).toBe(after);
});
