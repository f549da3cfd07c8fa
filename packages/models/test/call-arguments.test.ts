import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, it, test } from "vitest";
import { argumentsProblem, parseArguments } from "../src/call-arguments.ts";
import { exchange as askClaude, messageEnd, messageStart, streamOf } from "./anthropic-exchange.ts";
import {
  callDelta,
  chat,
  endedCalls,
  exchange,
  finish,
  gpt,
  responseEnd,
  responsesOf,
} from "./openai-exchange.ts";
import { served } from "./served.ts";

describe("the text of arguments", () => {
  test("are repaired", () =>
    everyRow<[string, string, object]>([
      ["raw tabs and line breaks in a string", '{"a":"x\ty\r\nz"}', { a: "x\ty\r\nz" }],
      ["other control characters", '{"a":"\u0001\\"\u001b"}', { a: '\u0001"\u001b' }],
      ["a comma at the end", '{"a":[1,2,],"b":",]",}', { a: [1, 2], b: ",]" }],
      ["a brace too many", '{"a":"}"}}', { a: "}" }],
      ["a code fence", '```json\n{"a":1}\n```', { a: 1 }],
      ["an empty object before the real one", '{}{"a":1}', { a: 1 }],
      ["the whole once more", '{"a":"\n"}{"a":"\n"}', { a: "\n" }],
      ["a JSON text in a JSON text", '"{\\"a\\":1}"', { a: 1 }],
      ["null", "null", {}],
      ["the empty list of PHP", "[]", {}],
      ["nothing", " ", {}],
    ])(([, text, expected]) => {
      expect(parseArguments(text)).toEqual(expected);
    }));

  test("are explained if they cannot be repaired", () =>
    everyRow([
      ['{"a":"b', "are incomplete"],
      ['{"a":"b\t', "are incomplete"],
      ['{"a":{"b":1}', "are incomplete"],
      ['{"a":"\\d+"}', "Write a backslash in a string as \\\\: \\\\d instead of \\d."],
      ['{"a": "say "hi""}', 'at position 12, near "{\\"a\\": \\"say \\"hi'],
      ['{"a":1}{"b":2}', "several JSON objects in a row"],
      ["[1]", "are a JSON array, not a JSON object"],
      ["5", "are the JSON value 5, not a JSON object"],
      ["read the file", 'unexpected "r"'],
      [`${'{"a":'.repeat(600)}1${"}".repeat(600)}`, "nested deeper than"],
    ])(([text, problem]) => {
      expect(parseArguments(text)).toBeUndefined();
      expect(argumentsProblem(text)).toContain(problem);
    }));
});

const raw = '{"command":"printf a\n\tb"}';
const read = { command: "printf a\n\tb" };

describe("raw line breaks in the arguments of a call", () => {
  it("are read by Chat Completions", async () => {
    const call = { index: 0, id: "a", function: { name: "bash", arguments: raw } };
    expect(endedCalls(await chat(callDelta(call), finish("tool_calls")))).toMatchObject([
      { arguments: read },
    ]);
  });

  it("are read by Responses", async () => {
    const item = { type: "function_call", id: "f", call_id: "a", name: "bash", arguments: raw };
    const { message } = await exchange(
      (
        await served(
          responsesOf([{ type: "response.output_item.done", output_index: 0, item }, responseEnd()]),
        )
      ).url,
      { model: gpt },
    );
    expect(message.content).toMatchObject([{ arguments: read }]);
  });

  it("are read by Anthropic's Messages", async () => {
    const { message } = await askClaude(
      (
        await served(
          streamOf([messageStart(), start(0, "a"), piece(0, raw), stop(0), ...messageEnd("tool_use")]),
        )
      ).url,
    );
    expect(message.content).toMatchObject([{ arguments: read }]);
  });
});

const start = (index: number, id: string) => ({
  type: "content_block_start",
  index,
  content_block: { type: "tool_use", id, name: "read", input: {} },
});
const piece = (index: number, partial_json: string) => ({
  type: "content_block_delta",
  index,
  delta: { type: "input_json_delta", partial_json },
});
const stop = (index: number) => ({ type: "content_block_stop", index });

describe("pieces in the wrong order", () => {
  test.each<[string, ReturnType<typeof start | typeof piece | typeof stop>[]]>([
    [
      "in turns",
      [
        start(0, "a"),
        start(1, "b"),
        piece(1, '{"n":'),
        piece(0, '{"n":0}'),
        piece(1, "1}"),
        stop(1),
        stop(0),
      ],
    ],
    [
      "before their block",
      [
        piece(1, '{"n":'),
        start(0, "a"),
        piece(0, '{"n":0}'),
        start(1, "b"),
        piece(1, "1}"),
        stop(0),
        stop(1),
      ],
    ],
    [
      "after the end of their block",
      [
        start(0, "a"),
        piece(0, '{"n":'),
        stop(0),
        piece(0, "0}"),
        start(1, "b"),
        piece(1, '{"n":1}'),
        stop(1),
      ],
    ],
    [
      "all counted as 0, without ends",
      [start(0, "a"), piece(0, '{"n":0}'), start(0, "b"), piece(0, '{"n":1}')],
    ],
  ])("are joined by Anthropic's Messages: %s", async (_name, blocks) => {
    const { message } = await askClaude(
      (await served(streamOf([messageStart(), ...blocks, ...messageEnd("tool_use")]))).url,
    );
    expect(message.content).toMatchObject([
      { id: "a", arguments: { n: 0 } },
      { id: "b", arguments: { n: 1 } },
    ]);
  });

  const item = { type: "function_call", id: "f", call_id: "a", name: "read" };
  const added = { type: "response.output_item.added", output_index: 0, item };
  const part = (delta: string) => ({
    type: "response.function_call_arguments.delta",
    output_index: 0,
    delta,
  });
  const done = (args: string | undefined) => ({
    type: "response.output_item.done",
    output_index: 0,
    item: { ...item, arguments: args },
  });
  test.each<[string, Record<string, unknown>[]]>([
    ["before their call", [part('{"n":'), added, part("0}"), done(undefined)]],
    ["with a piece lost, and whole at the end", [added, part('{"n'), done('{"n":0}')]],
    ["without an end of their own", [added, part('{"n":0}')]],
  ])("are joined by Responses: %s", async (_name, events) => {
    const end = responseEnd({ output: [{ ...item, arguments: '{"n":0}' }] });
    const { message } = await exchange((await served(responsesOf([...events, end]))).url, { model: gpt });
    expect(message.content).toMatchObject([{ id: "a", arguments: { n: 0 } }]);
  });

  test("are joined by Chat Completions if the index is text", async () => {
    const events = await chat(
      callDelta({ index: "1", id: "b", function: { name: "read", arguments: '{"n":' } }),
      callDelta({ index: "0", function: { name: "read", arguments: '{"n":' } }),
      callDelta({ index: "1", function: { arguments: "1}" } }),
      callDelta({ index: "0", id: "a", function: { arguments: "0}" } }),
      finish("tool_calls"),
    );
    expect(endedCalls(events)).toMatchObject([
      { id: "b", arguments: { n: 1 } },
      { id: "a", arguments: { n: 0 } },
    ]);
  });
});
