import { messageText } from "@bonsai-agent/messages";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { z } from "zod";
import type { ExtensionAPI, ExtensionFactory, ExtensionTool } from "../src/index.ts";
import { openTestSession } from "../src/testing/index.ts";
import { saying } from "./test-tool.ts";

test("the first extension keeps a tool or flag, the later one takes a command or key, and a notice names the conflict", async () => {
  const undosOfFirst: (() => void)[] = [];
  const undos: (() => void)[] = [];
  const first: ExtensionFactory = (bonsai) => {
    undosOfFirst.push(
      bonsai.registerTool(saying("greet", "first")),
      bonsai.registerFlag("plan", { type: "boolean", default: false }),
      // An extension replaces its own.
      bonsai.registerTool(saying("greet", "first again")),
    );
    bonsai.registerCommand("go", { handler: () => {} });
    bonsai.registerShortcut("ctrl+g", { description: "first", handler: () => {} });
  };
  const second: ExtensionFactory = (bonsai) => {
    undos.push(
      bonsai.registerTool(saying("greet", "second")),
      bonsai.registerCommand("go", { description: "second", handler: () => {} }),
      bonsai.registerFlag("plan", { type: "boolean", default: true }),
      bonsai.registerShortcut("ctrl+g", { description: "second", handler: () => {} }),
    );
  };
  await using session = await openTestSession({ extensions: [first, second] });
  const { extensions, agent } = session;
  const standing = () => [
    agent.tools.get("greet")?.description,
    extensions.commands.find(({ name }) => name === "go")?.description,
    extensions.flags.get("plan")?.default,
    extensions.shortcuts.get("ctrl+g")?.description,
  ];
  expect(standing()).toEqual(["Says first again.", "second", false, "second"]);
  const used = { tool: "first-1", command: "second-2", flag: "first-1", key: "second-2" };
  expect(session.notices.map(({ code, message }) => [code, message])).toEqual(
    Object.entries(used).map(([what, name]) => [
      "extension_conflict",
      expect.stringMatching(new RegExp(`the ${what} .*Using the one from inline:.*${name}`)),
    ]),
  );
  for (const undo of undosOfFirst) undo();
  expect(standing()).toEqual(["Says second.", "second", true, "second"]);
  for (const undo of [...undos, ...undos]) undo();
  expect(standing()).toEqual([undefined, undefined, undefined, "first"]);
});

test("a built-in tool is replaced without a notice, and restored", async () => {
  let undo = () => {};
  await using session = await openTestSession({
    extensions(bonsai) {
      undo = bonsai.registerTool(saying("read"));
    },
  });
  const { tools } = session.agent;
  expect(tools.get("read")?.description).toBe("Says read.");
  const names = tools.names;
  undo();
  expect(tools.get("read")?.description).toContain("file");
  expect(tools.names).toEqual(names);
  expect(session.notices).toEqual([]);
});

test("a tool that is registered during a run is offered with the next request", async () => {
  let bonsai: ExtensionAPI | undefined;
  await using session = await openTestSession({
    extensions(api) {
      bonsai = api;
      api.registerTool({
        ...saying("open"),
        execute: async () => {
          bonsai!.registerTool(saying("late"));
          return { content: [{ type: "text", text: "opened" }] };
        },
      });
    },
    answers: [{ calls: [{ name: "open" }] }, { calls: [{ name: "late" }] }, "Done."],
  });
  await session.prompt("Go.");
  const offered = session.requests.map(({ tools }) => tools.some(({ name }) => name === "late"));
  expect(offered).toEqual([false, true, true]);
  expect(session.requests[2]?.messages.at(-1)).toMatchObject({ toolName: "late", isError: false });
});

test("execute gets the id, checked arguments, a signal, updates and a context", async () => {
  const updates: unknown[] = [];
  let got: unknown[] = [];
  await using session = await openTestSession({
    extensions(bonsai) {
      bonsai.on("tool_execution_update", ({ partialResult }) => void updates.push(partialResult));
      bonsai.registerTool({
        name: "count",
        description: "Counts.",
        parameters: z.object({ to: z.number() }),
        prepareArguments: (args) => ({ to: Number((args as { upto: string }).upto) }),
        execute(toolCallId, { to }, signal, onUpdate, ctx) {
          onUpdate({ content: [{ type: "text", text: "1" }] });
          got = [toolCallId, to, signal.aborted, ctx.signal === signal, ctx.sessionManager.getSessionId()];
          return { content: [{ type: "text", text: String(to) }], details: { to } };
        },
      });
    },
    answers: [{ calls: [{ name: "count", arguments: { upto: "3" } }] }, "Three."],
  });
  await session.prompt("Count.");
  expect(got).toEqual(["call-1", 3, false, true, session.session.id]);
  expect(updates).toMatchObject([{ content: [{ type: "text", text: "1" }] }]);
  expect(session.requests[1]?.messages.at(-1)).toMatchObject({ details: { to: 3 }, isError: false });
});

const cycle: Record<string, unknown> = {};
cycle.self = cycle;

test("every value of a tool becomes a result that the model can read", () =>
  everyRow([
    ["a text", "plain", "plain", false],
    ["a text as content", { content: "plain" }, "plain", false],
    ["nothing", undefined, "returned an invalid result", true],
    ["null", null, "returned an invalid result", true],
    ["no content", { details: 1 }, "returned an invalid result", true],
    ["a content of something else", { content: [{ type: "sound" }] }, "items other than texts", true],
    ["details with a cycle", { content: [{ type: "text", text: "kept" }], details: cycle }, "kept", false],
    [
      "details with a bigint",
      { content: [{ type: "text", text: "kept" }], details: { n: 1n } },
      "kept",
      false,
    ],
  ])(async ([_what, given, text, isError]) => {
    await using session = await openTestSession({
      extensions(bonsai) {
        bonsai.registerTool({ ...saying("odd"), execute: async () => given as never });
      },
      answers: [{ calls: [{ name: "odd" }] }, "Done."],
    });
    expect(await session.prompt("Go.")).toMatchObject({ status: "done" });
    const result = session.requests[1]?.messages.at(-1);
    expect(result).toMatchObject({ role: "toolResult", isError });
    expect(messageText(result!)).toContain(text);
  }));

test("invalid parameters are refused at the registration", () =>
  everyRow<[string, unknown, string]>([
    ["a text", "text", "text"],
    ["a list", [], "they are an array"],
    ["zod of something else", z.string(), '"string"'],
    ["zod that no JSON Schema can say", z.object({ at: z.date() }), "Date cannot be represented"],
    ["zod 3", { _def: {}, safeParse() {} }, "another zod version"],
    ["JSON Schema of something else", { type: "string" }, '"string"'],
    ["a type that there is not", { type: "object", properties: { a: { type: "txt" } } }, "txt"],
  ])(async ([_what, parameters, message]) => {
    await using session = await openTestSession({
      extensions(bonsai) {
        bonsai.registerTool({ ...saying("odd"), parameters: parameters as never });
      },
    });
    expect(session.extensions.failed).toEqual([]);
    expect(session.notices).toMatchObject([
      { code: "extension_registration_refused", message: expect.stringContaining(message) },
    ]);
    expect(session.agent.tools.names).not.toContain("odd");
  }));

/** As TypeBox makes them: JSON Schema with a symbol that says its kind. */
const kind = Symbol.for("TypeBox.Kind");
const typeBox = {
  [kind]: "Object",
  type: "object",
  required: ["mode"],
  properties: {
    mode: {
      [kind]: "Union",
      anyOf: [
        { const: "a", type: "string" },
        { const: "b", type: "string" },
      ],
    },
  },
};

test("parameters of TypeBox are checked like others", async () => {
  const got: unknown[] = [];
  await using session = await openTestSession({
    extensions(bonsai) {
      bonsai.registerTool({
        ...saying("mode"),
        parameters: typeBox,
        execute: async (_id, params) => {
          got.push(params);
          return { content: [] };
        },
      });
    },
    answers: [
      { calls: [{ name: "mode", arguments: { mode: "c" } }] },
      { calls: [{ name: "mode", arguments: { mode: "b" } }] },
      "Done.",
    ],
  });
  await session.prompt("Go.");
  expect(got).toEqual([{ mode: "b" }]);
  expect(session.requests[1]?.messages.at(-1)).toMatchObject({ isError: true });
});

const wrong: [string, (bonsai: ExtensionAPI) => unknown, string][] = [
  ["a tool's name", (b) => b.registerTool(saying("a b")), "a b"],
  ["no tool", (b) => b.registerTool(undefined as never), "an object with options"],
  [
    "a tool without execute",
    (b) => b.registerTool({ ...saying("x"), execute: 1 } as unknown as ExtensionTool),
    "a function as execute",
  ],
  ["a command's slash", (b) => b.registerCommand("/x", { handler() {} }), '"/x"'],
  ["a command's blank", (b) => b.registerCommand("a b", { handler() {} }), "a b"],
  ["an empty command", (b) => b.registerCommand("", { handler() {} }), '""'],
  ["no handler", (b) => b.registerCommand("x", {} as never), "a function as handler"],
  ["a flag's dashes", (b) => b.registerFlag("--x", { type: "boolean" }), "--x"],
  ["no key", (b) => b.registerShortcut("", { handler() {} }), "ctrl+shift+k"],
  ["a handler that is none", (b) => b.on("input", 1 as never), "a function"],
];

test("a wrong registration is refused alone, with the given value and the remedy", () =>
  everyRow(wrong)(async ([_what, call, text]) => {
    let undo: unknown;
    await using session = await openTestSession({
      extensions(bonsai) {
        undo = call(bonsai);
        bonsai.registerCommand("rest", { handler() {} });
      },
    });
    expect(session.extensions.failed).toEqual([]);
    expect(session.notices).toMatchObject([
      { level: "warning", code: "extension_registration_refused", message: expect.stringContaining(text) },
    ]);
    expect(session.notices[0]?.message).toMatch(/^Skipped a registration of inline:extensions-1; .*\n\w/s);
    expect(session.extensions.commands.map(({ name }) => name)).toEqual(["rest"]);
    expect((undo as () => unknown)()).toBeUndefined();
  }));

test("a flag has the value of the command line, else its default", async () => {
  const seen: unknown[] = [];
  await using _session = await openTestSession({
    extensions(bonsai) {
      bonsai.registerFlag("plan", { type: "boolean", default: false });
      bonsai.registerFlag("to", { type: "string", default: "here" });
      bonsai.registerFlag("none", { type: "string" });
      seen.push(...["plan", "to", "none", "unknown"].map((name) => bonsai.getFlag(name)));
    },
    flags: { plan: true, unknown: "x" },
  });
  expect(seen).toEqual([true, "here", undefined, undefined]);
});

test("commands complete arguments and keys run; a failure is a notice", async () => {
  const ran: string[] = [];
  await using session = await openTestSession({
    extensions(bonsai) {
      bonsai.registerCommand("to", {
        getArgumentCompletions: (prefix) => [{ value: `${prefix}x`, label: "X" }],
        handler: () => {},
      });
      bonsai.registerCommand("bad", {
        getArgumentCompletions: async () => Promise.reject(new Error("no list")),
        handler: () => {},
      });
      bonsai.registerShortcut("ctrl+a", { handler: (ctx) => void ran.push(ctx.cwd) });
      bonsai.registerShortcut("ctrl+b", {
        handler: () => {
          throw new Error("no key");
        },
      });
    },
  });
  const { extensions } = session;
  expect(await extensions.completeCommand("to", "a")).toEqual([{ value: "ax", label: "X" }]);
  expect(await extensions.completeCommand("bad", "a")).toEqual([]);
  expect(await extensions.completeCommand("unknown", "a")).toEqual([]);
  expect(await extensions.runShortcut("ctrl+a")).toBe(true);
  expect(await extensions.runShortcut("ctrl+b")).toBe(true);
  expect(await extensions.runShortcut("ctrl+c")).toBe(false);
  expect(ran).toEqual([session.cwd]);
  expect(session.notices.map(({ code }) => code)).toEqual([
    "extension_completion_failed",
    "extension_shortcut_failed",
  ]);
  expect(session.notices[1]?.message).toBe("The shortcut ctrl+b of inline:extensions-1 failed: no key");
});
