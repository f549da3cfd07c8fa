import { describe, expect, test } from "vitest";
import type { ExtensionAPI } from "../src/index.ts";
import { openTestSession } from "../src/testing/index.ts";
import { saying } from "./test-tool.ts";

test("what a tool gives beside its content is stored as far as it can be", async () => {
  const cost: Record<string, unknown> = { total: 1 };
  cost.self = cost;
  const given = { content: [{ type: "text", text: "all the same" }], isError: "a little", usage: { cost } };
  await using session = await openTestSession({
    extensions: (bonsai) =>
      void bonsai.registerTool({
        ...saying("odd"),
        execute: async () => ({ ...given, details: { n: 1n } }) as never,
      }),
    answers: [{ calls: [{ name: "odd" }] }, "Done."],
  });
  expect(await session.prompt("Go.")).toMatchObject({ status: "done" });
  const stored = session.session
    .path()
    .find((entry) => entry.type === "message" && entry.message.role === "toolResult");
  expect(stored).toMatchObject({
    message: {
      content: given.content,
      isError: true,
      details: { unstorable: expect.stringContaining("BigInt") },
    },
  });
  expect(stored).not.toHaveProperty("message.usage");
});

describe.each([20_000, 1_000_000])("what is nested %i levels deep", (levels) => {
  let deep: unknown[] = [];
  for (let level = 0; level < levels; level += 1) deep = [deep];

  test.each<[string, object, object]>([
    [
      "details are left out",
      { details: { deep } },
      { details: { unstorable: "It is nested deeper than 200 levels." } },
    ],
    [
      "content is an error",
      { content: [{ type: "text", text: "x", deep }] },
      {
        isError: true,
        content: [{ type: "text", text: expect.stringContaining("nested deeper than 200 levels") }],
      },
    ],
  ])("in the result of a tool: %s", async (_, given, expected) => {
    await using session = await openTestSession({
      extensions: (bonsai) =>
        void bonsai.registerTool({
          ...saying("odd"),
          execute: async () => ({ content: [{ type: "text", text: "x" }], ...given }) as never,
        }),
      answers: [{ calls: [{ name: "odd" }] }, "Done."],
    });
    expect(await session.prompt("Go.")).toMatchObject({ status: "done" });
    const stored = session.session
      .path()
      .find((entry) => entry.type === "message" && entry.message.role === "toolResult");
    expect(stored).toMatchObject({ message: expected });
  });

  test("in an entry and in a message: the extension gets an error that says so", async () => {
    const errors: unknown[] = [];
    const attempt = (work: () => unknown) => {
      try {
        work();
      } catch (error) {
        errors.push(error);
      }
    };
    await using session = await openTestSession({
      extensions: (bonsai) => {
        bonsai.on("agent_start", () => {
          attempt(() => bonsai.appendEntry("odd", { deep }));
          attempt(() =>
            bonsai.sendMessage({ customType: "odd", content: "x", display: true, details: deep }),
          );
        });
        // Handlers of it get a copy of all that the model is sent.
        bonsai.on("context", () => {});
      },
      answers: ["Done."],
    });
    expect(await session.prompt("Go.")).toMatchObject({ status: "done" });
    expect(errors).toMatchObject([
      { code: "entry_not_serializable", message: expect.stringContaining("nested too deep") },
    ]);
    expect(session.notices).toContainEqual(
      expect.objectContaining({
        message: expect.stringContaining("cannot be stored: it is nested too deep"),
      }),
    );
  });
});

test.each<[string, object]>([
  ["promptGuidelines", { promptGuidelines: "Use it well." }],
  ["promptGuidelines", { promptGuidelines: [7] }],
  ["promptSnippet", { promptSnippet: 7 }],
  ["label", { label: {} }],
  ["executionMode", { executionMode: "serial" }],
  ["prepareArguments", { prepareArguments: {} }],
])("a tool whose %s is none is refused when it is registered: %j", async (field, odd) => {
  await using session = await openTestSession({
    extensions: (bonsai) => void bonsai.registerTool({ ...saying("odd"), ...odd }),
    answers: ["Fine."],
  });
  expect(session.extensions.failed).toMatchObject([
    { error: { code: "extension_argument_invalid", message: expect.stringContaining(`takes ${field}, `) } },
  ]);
  expect(await session.prompt("How are you?")).toMatchObject({ status: "done" });
});

test.each<[string, (bonsai: ExtensionAPI) => unknown]>([
  ["command", (b) => b.registerCommand("x", { description: {} as never, handler() {} })],
  ["shortcut", (b) => b.registerShortcut("x", { description: 7 as never, handler() {} })],
  ["flag", (b) => b.registerFlag("x", { type: "string", description: [] as never })],
  ["flag's default", (b) => b.registerFlag("x", { type: "boolean", default: "yes" as never })],
])("a description that is no text is refused: %s", async (_what, register) => {
  await using session = await openTestSession({ extensions: (bonsai) => void register(bonsai) });
  expect(session.extensions.failed).toMatchObject([{ error: { code: "extension_argument_invalid" } }]);
});

test.each([7, [null, 7, {}], "all"])("completions that are none are not offered: %j", async (offered) => {
  await using session = await openTestSession({
    extensions: (bonsai) =>
      void bonsai.registerCommand("x", { handler() {}, getArgumentCompletions: () => offered as never }),
  });
  expect(await session.extensions.completeCommand("x", "")).toEqual([]);
});
