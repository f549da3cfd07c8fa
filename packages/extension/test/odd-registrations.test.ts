import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import type { ExtensionAPI } from "../src/index.ts";
import { openTestSession } from "../src/testing/index.ts";
import { saying } from "./test-tool.ts";

test("details and usage of a tool's result are stored if possible", async () => {
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

test("a tool's malformed progress and a usage without cost do not end its call", async () => {
  await using session = await openTestSession({
    extensions: (bonsai) =>
      void bonsai.registerTool({
        ...saying("odd"),
        execute: async (_id, _input, _signal, onUpdate) => {
          const odd = [
            {},
            null,
            5,
            { content: 5 },
            { content: [null, 5, { type: "text" }] },
            { content: null },
          ];
          for (const partial of odd) onUpdate?.(partial as never);
          return { content: [{ type: "text", text: "done" }], usage: { input: 7, output: 3 } } as never;
        },
      }),
    answers: [{ calls: [{ name: "odd" }] }, "Done."],
  });
  expect(await session.prompt("Go.")).toMatchObject({ status: "done" });
  const stored = session.session
    .path()
    .find((entry) => entry.type === "message" && entry.message.role === "toolResult");
  expect(stored).toMatchObject({
    message: {
      content: [{ text: "done" }],
      isError: false,
      usage: { input: 7, output: 3, cost: { total: 0 } },
    },
  });
});

describe("data that are nested 20,000 levels deep", () => {
  let deep: unknown[] = [];
  for (let level = 0; level < 20_000; level += 1) deep = [deep];

  test("in the result of a tool: details are left out, and content is an error", () =>
    everyRow<[string, object, object]>([
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
    ])(async ([_, given, expected]) => {
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
    }));

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
        message: expect.stringContaining("an extension: it is nested too deep"),
      }),
    );
  });
});

test("a tool with an invalid field is refused, and the rest of the extension works", () =>
  everyRow<[string, object]>([
    ["a list of strings as promptGuidelines", { promptGuidelines: "Use it well." }],
    ["a list of strings as promptGuidelines", { promptGuidelines: [7] }],
    ["a string as promptSnippet", { promptSnippet: 7 }],
    ["a string as label", { label: {} }],
    ["a string as description", { description: 7 }],
    ["a function as prepareArguments", { prepareArguments: {} }],
  ])(async ([wanted, odd]) => {
    await using session = await openTestSession({
      extensions: (bonsai) => {
        bonsai.registerTool({ ...saying("odd"), ...odd });
        bonsai.registerTool(saying("fine"));
      },
    });
    expect(session.extensions.failed).toEqual([]);
    expect(session.notices).toMatchObject([
      { code: "extension_registration_refused", message: expect.stringContaining(`it expects ${wanted}.`) },
    ]);
    expect(session.agent.tools.names).toContain("fine");
    expect(session.agent.tools.names).not.toContain("odd");
  }));

test("a tool without description or parameters can be called", () =>
  everyRow<[string, object, object]>([
    ["a description", { description: undefined, label: "Odd one" }, { description: "Odd one" }],
    ["a description and a label", { description: undefined }, { description: "odd" }],
    ["parameters", { parameters: undefined }, { parameters: { type: "object" } }],
  ])(async ([_what, odd, declared]) => {
    await using session = await openTestSession({
      extensions: (bonsai) => void bonsai.registerTool({ ...saying("odd"), ...odd }),
      answers: [{ calls: [{ name: "odd", arguments: {} }] }, "Fine."],
    });
    await session.prompt("Go.");
    expect(session.notices).toEqual([]);
    expect(session.requests[0]?.tools.find(({ name }) => name === "odd")).toMatchObject(declared);
    expect(session.requests[1]?.messages.at(-1)).toMatchObject({ role: "toolResult", isError: false });
  }));

const flag = (options: unknown) => (b: ExtensionAPI) => b.registerFlag("x", options as never);

test("a registration with an invalid option is refused", () =>
  everyRow<[string, (bonsai: ExtensionAPI) => unknown]>([
    ["a string as description", (b) => b.registerCommand("x", { description: {} as never, handler() {} })],
    ["a string as description", (b) => b.registerShortcut("x", { description: 7 as never, handler() {} })],
    ["a function as handler", (b) => b.registerCommand("x", {} as never)],
    ["a string as description", flag({ type: "string", description: [], default: "here" })],
    ["a boolean as default", flag({ type: "boolean", default: "yes" })],
    ['"boolean" or "string" as type', flag({ type: "number", default: "7" })],
  ])(async ([wanted, register]) => {
    await using session = await openTestSession({ extensions: (bonsai) => void register(bonsai) });
    expect(session.extensions.failed).toEqual([]);
    expect(session.notices).toMatchObject([
      { code: "extension_registration_refused", message: expect.stringContaining(`it expects ${wanted}.`) },
    ]);
  }));

test("a flag without a type has the type of its default, else boolean", () =>
  everyRow<[unknown, string]>([
    [undefined, "boolean"],
    [{ description: "Plan first" }, "boolean"],
    [{ default: true }, "boolean"],
    [{ default: "here" }, "string"],
  ])(async ([options, type]) => {
    await using session = await openTestSession({ extensions: (bonsai) => void flag(options)(bonsai) });
    expect(session.extensions.flags.get("x")?.type).toBe(type);
    expect(session.notices).toEqual([]);
  }));

test("invalid completions are not offered", () =>
  everyRow([7, [null, 7, {}], "all"])(async (offered) => {
    await using session = await openTestSession({
      extensions: (bonsai) =>
        void bonsai.registerCommand("x", { handler() {}, getArgumentCompletions: () => offered as never }),
    });
    expect(await session.extensions.completeCommand("x", "")).toEqual([]);
  }));
