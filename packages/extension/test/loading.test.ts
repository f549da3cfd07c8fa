import { homedir } from "node:os";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test, vi } from "vitest";
import { loadExtensions } from "../src/host/index.ts";
import { shownPath } from "../src/host/start-extension.ts";
import type { ExtensionAPI, ExtensionFactory } from "../src/index.ts";
import { openTestSession } from "../src/testing/index.ts";
import { bareHost } from "./bare-host.ts";
import { scratchModules } from "./scratch.ts";
import { saying } from "./test-tool.ts";

test("extensions load one after the other, each awaited", async () => {
  const order: string[] = [];
  const slow: ExtensionFactory = async () => {
    order.push("slow begins");
    await Promise.resolve();
    order.push("slow ends");
  };
  await using session = await openTestSession({ extensions: [slow, () => void order.push("quick")] });
  expect(order).toEqual(["slow begins", "slow ends", "quick"]);
  expect(session.extensions.loaded).toMatchObject([
    { path: "inline:slow-1", origin: "inline", loadMs: expect.any(Number) },
    { path: "inline:extension-2", origin: "inline", loadMs: expect.any(Number) },
  ]);
});

test("a failing extension is named with line and cause, leaves nothing behind, and the others load", async () => {
  using modules = scratchModules();
  const path = modules.write("broken.ts", [
    'import type { ExtensionAPI } from "@bonsai-agent/extension";',
    "export default function (bonsai: ExtensionAPI) {",
    '  bonsai.on("input", () => ({ action: "handled" as const }));',
    '  bonsai.registerCommand("half", { handler() {} });',
    '  bonsai.registerFlag("half", { type: "boolean" });',
    '  bonsai.registerShortcut("ctrl+h", { handler() {} });',
    '  bonsai.registerTool({ name: "half", description: "x", parameters: { type: "object" }, execute: () => ({ content: [] }) });',
    '  bonsai.registerProvider("half", { baseUrl: "http://127.0.0.1:1", api: "openai-chat", models: [{ id: "m" }] });',
    '  throw new Error("half way");',
    "}",
  ]);
  const good = modules.write("good.ts", [
    'export default (bonsai) => bonsai.registerCommand("good", { handler() {} });',
  ]);
  await using session = await openTestSession({ extensions: [path, good], answers: ["Hello."] });
  const { extensions, agent, notices } = session;
  expect(extensions.loaded).toMatchObject([{ path: good, origin: "flag" }]);
  expect(extensions.failed).toMatchObject([
    { path, error: { code: "extension_failed", cause: { message: "half way" } } },
  ]);
  expect(extensions.failed[0]?.error.message).toContain(`${path}:9:9: half way`);
  expect(notices).toMatchObject([{ level: "warning", code: "extension_failed" }]);
  expect(notices[0]?.message).toContain("Could not load the extension ");
  expect(notices[0]?.message).toContain("broken.ts:9:9: half way");
  expect(extensions.commands.map(({ name }) => name)).toEqual(["good"]);
  expect([...extensions.flags, ...extensions.shortcuts]).toEqual([]);
  expect(agent.tools.names).not.toContain("half");
  expect(await session.prompt("Hi")).toMatchObject({ status: "done" });
});

test("a wrong call is named with its line", async () => {
  using modules = scratchModules();
  const path = modules.write("wrong.ts", [
    "export default function (bonsai) {",
    '  bonsai.registerCommand("a b", { handler() {} });',
    "}",
  ]);
  await using session = await openTestSession({ extensions: path });
  const [notice] = session.notices;
  expect(notice?.code).toBe("extension_registration_refused");
  expect(notice?.message).toContain(`${path}:2:10: `);
  expect(notice?.message).toContain('registers the command "a b"');
});

test("names each kind of thrown value", () =>
  everyRow([
    ["a text", () => Promise.reject("just text"), "just text"],
    ["nothing", () => Promise.reject(undefined), "undefined"],
    ["an empty error", () => Promise.reject(new TypeError()), "TypeError"],
  ])(async ([_what, factory, text]) => {
    await using session = await openTestSession({ extensions: factory });
    expect(session.extensions.failed[0]?.error.message).toBe(`inline:extension-1: ${text}`);
  }));

test("missing extensions are notices, and the others load, even if the models cannot be opened", async () => {
  const host = bareHost();
  const problems = [{ path: "/nowhere.ts", message: "the file does not exist.", hint: "Mend the setting." }];
  const extensions = await loadExtensions({
    host,
    find: () => ({ extensions: [], problems }),
    modules: {},
    inline: [{ name: "mine", factory: (bonsai) => void bonsai.registerFlag("x", { type: "boolean" }) }],
  });
  expect(extensions.loaded).toMatchObject([{ path: "inline:mine" }]);
  expect(host.notices).toEqual([
    {
      level: "warning",
      code: "extension_not_found",
      message: "/nowhere.ts: the file does not exist. Mend the setting.",
    },
  ]);
});

test("two extensions of one name get different names and are unloaded separately", async () => {
  const host = bareHost();
  const seen: string[] = [];
  const factory = (mark: string) => (bonsai: ExtensionAPI) => {
    bonsai.on("agent_start", () => void seen.push(mark));
    bonsai.registerCommand("go", { description: mark, handler() {} });
    if (mark === "b") throw new Error("not this one");
  };
  const extensions = await loadExtensions({
    host,
    find: () => ({ extensions: [], problems: [] }),
    modules: {},
    inline: ["a", "b"].map((mark) => ({ name: "same", factory: factory(mark) })),
  });
  await host.lifecycle.notify("agent_start", { type: "agent_start" });
  expect(seen).toEqual(["a"]);
  expect(extensions.commands).toMatchObject([{ description: "a" }]);
  expect(host.notices.map(({ message }) => message)).toEqual([
    "inline:same and inline:same (2) both register the command go. Using the one from inline:same (2).",
    expect.stringContaining("Could not load the extension inline:same (2)."),
  ]);
});

test("shows paths relative to the project or the home folder", () =>
  everyRow([
    ["/project/a/b.ts", "a/b.ts"],
    ["/projects/b.ts", "/projects/b.ts"],
    [join(homedir(), "x.ts"), "~/x.ts"],
    ["inline:x", "inline:x"],
  ])(([path, shown]) => {
    expect(shownPath(path, "/project")).toBe(shown);
  }));

test("built-in commands keep their names, and the extension loads", async () => {
  let undo = () => {};
  await using session = await openTestSession({
    reservedCommands: ["model"],
    extensions(bonsai) {
      undo = bonsai.registerCommand("model", { handler() {} });
      bonsai.registerCommand("mine", { handler() {} });
    },
  });
  undo();
  expect(session.extensions.commands.map(({ name }) => name)).toEqual(["mine"]);
  expect(session.notices).toMatchObject([
    { code: "extension_command_reserved", message: expect.stringContaining("/model") },
  ]);
});

test("a factory that never ends times out after 10 s with a notice, and its later calls are refused", async () => {
  vi.useFakeTimers();
  try {
    const called = Promise.withResolvers<ExtensionAPI>();
    const hung: ExtensionFactory = (bonsai) => {
      bonsai.registerCommand("hung", { handler() {} });
      called.resolve(bonsai);
      return new Promise(() => {});
    };
    const opening = openTestSession({
      extensions: [hung, (bonsai) => void bonsai.registerTool(saying("after"))],
    });
    const late = await called.promise;
    await vi.advanceTimersByTimeAsync(9_999);
    expect(vi.getTimerCount()).toBeGreaterThan(0);
    await vi.advanceTimersByTimeAsync(1);
    const session = await opening;
    expect(session.extensions.failed).toMatchObject([
      { path: "inline:hung-1", error: { code: "extension_hung" } },
    ]);
    expect(session.notices[0]?.message).toContain("inline:hung-1 did not start within 10 s");
    expect(session.extensions.commands).toEqual([]);
    expect(session.agent.tools.names).toContain("after");
    expect(() => late.registerCommand("late", { handler() {} })).toThrow("after it was unloaded");
    await session.close();
  } finally {
    vi.useRealTimers();
  }
});

test("an adapter changes the API and the contexts, and is undone with the extension", async () => {
  const undone: string[] = [];
  let seen: unknown;
  await using session = await openTestSession({
    adapter: {
      api: (api, { name, keep }) => {
        keep(() => undone.push(name));
        return { ...api, extra: () => "extra" } as typeof api;
      },
      context: (context) => Object.assign(Object.create(context), { more: "more" }),
    },
    extensions(bonsai) {
      const { extra } = bonsai as unknown as { extra: () => string };
      bonsai.registerCommand("look", {
        handler(_args, ctx) {
          seen = [extra(), (ctx as unknown as { more: string }).more, ctx.mode];
        },
      });
    },
  });
  await session.command("/look");
  expect(seen).toEqual(["extra", "more", "print"]);
  session.extensions.unload();
  expect(undone).toEqual(["inline:extensions-1"]);
});
