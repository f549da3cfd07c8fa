import { expect, test } from "vitest";
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
