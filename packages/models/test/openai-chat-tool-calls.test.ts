import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { MALFORMED_ARGUMENTS } from "../src/call-arguments.ts";
import { callDelta, chat, delta, endedCalls, finish, whole } from "./openai-exchange.ts";

describe("tool calls", () => {
  const calls = (...parts: [id: string, path: string][]) =>
    parts.map(([id, path]) => ({ type: "toolCall", id, name: "read", arguments: { path } }));
  const part = (path: string) => ({ name: "read", arguments: JSON.stringify({ path }) });

  test("calls are joined from every form of deltas", () =>
    everyRow<[string, unknown[], unknown[]]>([
      [
        "parallel, in turns",
        [
          callDelta({ index: 0, id: "a", type: "function", function: { name: "read", arguments: "" } }),
          callDelta({
            index: 1,
            id: "b",
            type: "function",
            function: { name: "read", arguments: '{"path":' },
          }),
          callDelta({ index: 0, function: { arguments: '{"path":"a.ts"}' } }),
          callDelta({ index: 1, function: { arguments: '"b.ts"}' } }),
        ],
        calls(["a", "a.ts"], ["b", "b.ts"]),
      ],
      [
        "whole, in one chunk",
        [
          callDelta(
            { index: 0, id: "a", function: part("a.ts") },
            { index: 1, id: "b", function: part("b.ts") },
          ),
        ],
        calls(["a", "a.ts"], ["b", "b.ts"]),
      ],
      [
        "all counted as 0",
        [
          callDelta({ index: 0, id: "a", function: part("a.ts") }),
          callDelta({ index: 0, id: "b", function: part("b.ts") }),
        ],
        calls(["a", "a.ts"], ["b", "b.ts"]),
      ],
      [
        "without an index",
        [callDelta({ id: "a", function: part("a.ts") }), callDelta({ id: "b", function: part("b.ts") })],
        calls(["a", "a.ts"], ["b", "b.ts"]),
      ],
      [
        "without an index, pieces by id",
        [
          callDelta({ id: "a", function: { name: "read" } }),
          callDelta({ id: "a", function: { arguments: '{"path":"a' } }),
          callDelta({ id: "a", function: { arguments: '.ts"}' } }),
        ],
        calls(["a", "a.ts"]),
      ],
      [
        "a new id with each piece",
        [
          callDelta({ index: 0, id: "a", function: { name: "read", arguments: '{"path"' } }),
          callDelta({ index: 0, id: "x", function: { arguments: ':"a.ts"}' } }),
        ],
        calls(["a", "a.ts"]),
      ],
      [
        "an id that comes late",
        [
          callDelta({ index: 0, function: { name: "read", arguments: '{"path":' } }),
          callDelta({ index: 0, id: "a", function: { arguments: '"a.ts"}' } }),
        ],
        calls(["a", "a.ts"]),
      ],
      [
        "a name in pieces",
        [
          callDelta({ index: 0, id: "a", function: { name: "re" } }),
          callDelta({ index: 0, function: { name: "ad" } }),
          callDelta({ index: 0, function: { arguments: '{"path":"a.ts"}' } }),
        ],
        calls(["a", "a.ts"]),
      ],
      [
        "a name that grows",
        [
          callDelta({ index: 0, id: "a", function: { name: "re" } }),
          callDelta({ index: 0, id: "a", function: { name: "read", arguments: '{"path":"a.ts"}' } }),
        ],
        calls(["a", "a.ts"]),
      ],
      [
        "a name again with each piece",
        [
          callDelta({ index: 0, id: "a", function: { name: "read", arguments: '{"path":' } }),
          callDelta({ index: 0, id: "a", function: { name: "read", arguments: '"a.ts"}' } }),
        ],
        calls(["a", "a.ts"]),
      ],
      [
        "arguments as an object",
        [callDelta({ index: 0, id: "a", function: { name: "read", arguments: { path: "a.ts" } } })],
        calls(["a", "a.ts"]),
      ],
      [
        "no arguments",
        [callDelta({ index: 0, id: "a", function: { name: "ls" } })],
        [{ type: "toolCall", id: "a", name: "ls", arguments: {} }],
      ],
      [
        "arguments that are no JSON",
        [callDelta({ index: 0, id: "a", function: { name: "read", arguments: '{"path":' } })],
        [{ type: "toolCall", id: "a", name: "read", arguments: { [MALFORMED_ARGUMENTS]: '{"path":' } }],
      ],
      [
        "Gemini's signature",
        [
          callDelta({
            index: 0,
            id: "a",
            function: part("a.ts"),
            extra_content: { google: { thought_signature: "s1" } },
          }),
        ],
        [{ ...calls(["a", "a.ts"])[0], thoughtSignature: "s1" }],
      ],
    ])(async ([, chunks, expected]) => {
      const result = await chat(...chunks, finish("tool_calls"), "[DONE]");
      expect(result.error).toBeUndefined();
      expect(endedCalls(result)).toEqual(expected);
      expect(result.message).toMatchObject({
        content: expected,
        stopReason: "toolUse",
        rawStopReason: "tool_calls",
      });
    }));

  test("calls without ids, or all with the same, get their own", async () => {
    const result = await chat(
      callDelta({ index: 0, function: whole }, { index: 1, function: whole }),
      callDelta({ index: 2, id: "same", function: whole }, { index: 3, id: "same", function: whole }),
      finish("tool_calls"),
    );
    const ids = endedCalls(result).map(({ id }) => id);
    expect(new Set(ids).size).toBe(4);
    expect(ids[2]).toBe("same");
    for (const id of ids) expect(id).toMatch(/^(same|call_[0-9a-f]{24})$/);
  });

  test("the function call of older servers", async () => {
    const result = await chat(
      delta({ function_call: { name: "read", arguments: '{"path":' } }),
      delta({ function_call: { arguments: '"a.ts"}' } }),
      finish("function_call"),
    );
    expect(endedCalls(result)).toMatchObject([{ name: "read", arguments: { path: "a.ts" } }]);
    expect(result.message).toMatchObject({ stopReason: "toolUse", rawStopReason: "function_call" });
  });

  test("the arguments can be followed as they come", async () => {
    const result = await chat(
      callDelta({ index: 0, id: "a", function: { name: "read", arguments: '{"path":' } }),
      callDelta({ index: 0, function: { arguments: '"a.ts"}' } }),
      finish("tool_calls"),
    );
    const deltas = result.events.map((event) => (event.type === "tool_call" ? event.delta : ""));
    expect(deltas).toEqual(['{"path":', '"a.ts"}', ""]);
  });
});
