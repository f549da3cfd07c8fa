import { callsIn } from "@bonsai-agent/messages";
import Type from "typebox";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { checkedInput } from "../src/run/tool-call.ts";
import { defineTool, type Tool, ToolRegistry } from "../src/tools/tool-registry.ts";
import { calls, done, echo, scriptedAgent } from "./scripted-agent.ts";

function toolWith(parameters: unknown): Tool {
  const execute = async () => ({ content: [] });
  return { name: "odd", description: "Odd.", parameters: parameters as Tool["parameters"], execute };
}

function registered(parameters: unknown) {
  const registry = new ToolRegistry();
  const tool = toolWith(parameters);
  registry.register(tool);
  const declared = registry.declarations()[0]!.parameters;
  return { declared, ok: (input: object) => checkedInput(tool, input as never).ok };
}

describe("a TypeBox schema", () => {
  const schema = Type.Object({
    path: Type.String({ description: "Where.", minLength: 1 }),
    mode: Type.Optional(Type.Enum(["read", "write"])),
    level: Type.Optional(Type.Union([Type.Literal("low"), Type.Literal("high")])),
    lines: Type.Optional(
      Type.Array(Type.Object({ from: Type.Integer(), to: Type.Optional(Type.Integer()) })),
    ),
    labels: Type.Optional(Type.Record(Type.String(), Type.Number())),
    any: Type.Optional(Type.Unknown()),
  });

  test("is declared as plain JSON Schema", () => {
    const { declared } = registered(schema);
    expect(declared).toMatchObject({
      type: "object",
      required: ["path"],
      properties: { path: { type: "string" } },
    });
    expect(JSON.stringify(declared)).not.toContain("~");
    expect(Reflect.ownKeys(declared).every((key) => typeof key === "string" && !key.startsWith("~"))).toBe(
      true,
    );
  });

  const inputs = [
    [{ path: "a" }, true],
    [{ path: "a", mode: "read", level: "high", lines: [{ from: 1 }], labels: { x: 1 }, any: [] }, true],
    [{}, false],
    [{ path: "" }, false],
    [{ path: "a", mode: "eat" }, false],
    [{ path: "a", level: "middle" }, false],
    [{ path: "a", lines: [{ to: 2 }] }, false],
    [{ path: "a", lines: [{ from: 1.5 }] }, false],
    [{ path: "a", labels: { x: "1" } }, false],
  ] as const;
  test("checks the arguments of a call", () => {
    expect(inputs.map(([input]) => [input, registered(schema).ok(input)])).toEqual(inputs);
  });

  test("from another copy or version, with its own symbols and keys, is declared the same way", () => {
    const older = { [Symbol("TypeBox.Kind")]: "Object", "~kind": "Object", type: "object", properties: {} };
    const nested = { ...older, properties: { a: { "~kind": "String", "~optional": true, type: "string" } } };
    expect(registered(nested).declared).toEqual({ type: "object", properties: { a: { type: "string" } } });
    expect(registered(nested).ok({ a: 1 })).toBe(false);
  });
});

test("parameters without a type are declared as an object's", () => {
  expect(registered({}).declared).toEqual({ type: "object", properties: {} });
});

const unusable = [
  ["nothing", undefined],
  ["a text", "object"],
  ["an array", []],
  ["an unknown type", { type: "object", properties: { a: { type: "strin" } } }],
  ["a reference to nowhere", { type: "object", properties: { a: { $ref: "#/nowhere" } } }],
  ["a pattern that is none", { type: "object", properties: { a: { type: "string", pattern: "(" } } }],
  ["properties that are no object", { type: "object", properties: 3 }],
  ["a schema of no object", { type: "string" }],
  ["a zod schema of no object", z.string()],
  ["a zod schema that JSON cannot say", z.object({ at: z.date() })],
  ["a schema of an older zod", { _def: {}, safeParse: () => ({}) }],
] as const;
test("a tool with unusable parameters is refused when it is registered", () => {
  for (const [name, parameters] of unusable) {
    const registry = new ToolRegistry();
    expect
      .soft(() => registry.register(toolWith(parameters)), name)
      .toThrow(
        expect.objectContaining({
          code: "tool_parameters_invalid",
          message: expect.stringMatching(/^Cannot read the parameters of the tool odd: ./),
        }),
      );
    expect.soft(registry.names, name).toEqual([]);
  }
});

const slow = { type: "object", properties: { a: { pattern: "^(a+)+$" } } };

const ownChecks: [string, Record<string, unknown>, object][] = [
  ["what must not be", { type: "object", not: { required: ["b"] } }, {}],
  ["a reference to itself", { type: "object", $ref: "#" }, {}],
  [
    "a reference to another file",
    { type: "object", properties: { a: { $ref: "https://example.com/a" } } },
    { a: {} },
  ],
  ["a pattern that would take for ever", slow, slow.properties],
];
test("a tool that checks its arguments itself is not checked by its schema", () => {
  for (const [name, parameters, properties] of ownChecks) {
    const registry = new ToolRegistry();
    const tool = { ...toolWith(parameters), checksArguments: true };
    registry.register(tool);
    expect.soft(registry.declarations()[0]!.parameters, name).toEqual({ type: "object", properties });
    const input = { a: `${"a".repeat(40)}!` };
    expect.soft(checkedInput(tool, input), name).toEqual({ ok: true, input });
  }
});

describe("prepareArguments", () => {
  const mending = defineTool({
    name: "echo",
    description: "Says it again.",
    parameters: z.object({ text: z.string() }),
    prepareArguments: (args) => {
      const { txt, ...others } = args as { txt?: string };
      return txt === undefined ? others : { ...others, text: txt };
    },
    execute: async ({ input }) => ({ content: [{ type: "text", text: input.text }] }),
  });

  test("mends what the model said before the guards see it and the schema checks it", async () => {
    const run = scriptedAgent({ tools: [mending], turn: [calls({ txt: "hi" }), done] });
    const guarded: unknown[] = [];
    run.lifecycle.on("tool_call", ({ input }) => void guarded.push({ ...input }));
    await run.agent.prompt("go");
    expect(guarded).toEqual([{ text: "hi" }]);
    const [, answer, result] = run.turns[1]!.messages;
    expect(callsIn(answer!)).toMatchObject([{ arguments: { txt: "hi" } }]);
    expect(result).toMatchObject({ isError: false, content: [{ text: "hi" }] });
  });

  test.each<[string, (args: unknown) => unknown, string]>([
    [
      "throws",
      () => {
        throw new Error("no such thing");
      },
      "no such thing",
    ],
    ["gives back no object", () => "hi", "prepareArguments of the tool echo returned no object."],
  ])(
    "a function that %s gives an error result, and the tool is not run",
    async (_what, prepareArguments, text) => {
      const run = scriptedAgent({
        tools: [{ ...mending, prepareArguments }],
        turn: [calls({ text: "hi" }), done],
      });
      expect((await run.agent.prompt("go")).status).toBe("done");
      expect(run.turns[1]!.messages.at(-1)).toMatchObject({ isError: true, content: [{ text }] });
    },
  );

  test("changes in place do not reach the model's call", async () => {
    const prepareArguments = (args: unknown) => Object.assign(args as object, { text: "other" });
    const run = scriptedAgent({
      tools: [{ ...mending, prepareArguments }],
      turn: [calls({ text: "hi" }), done],
    });
    await run.agent.prompt("go");
    const [, answer, result] = run.turns[1]!.messages;
    expect(callsIn(answer!)).toMatchObject([{ arguments: { text: "hi" } }]);
    expect(result).toMatchObject({ content: [{ text: "other" }] });
  });
});

test("a tool that comes during a run is offered in the next request", async () => {
  const late = { ...echo, name: "late" };
  const run = scriptedAgent({ turn: [calls(), { calls: [{ name: "late", arguments: {} }] }, done] });
  run.lifecycle.on("tool_execution_start", () => {
    run.agent.tools.register(late);
  });
  await run.agent.prompt("go");
  expect(run.turns.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
    ["echo"],
    ["echo", "late"],
    ["echo", "late"],
  ]);
  expect(run.turns[2]!.messages.at(-1)).toMatchObject({ toolName: "late", isError: false });
});
