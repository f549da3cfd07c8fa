import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { MALFORMED_ARGUMENTS } from "../src/call-arguments.ts";
import { callDelta, chat, delta, endedCalls, finish, whole } from "./openai-exchange.ts";

describe("tool calls", () => {
  const calls = (...parts: [id: string, path: string][]) =>
    parts.map(([id, path]) => ({ type: "toolCall", id, name: "read", arguments: { path } }));
  const both = calls(["a", "a.ts"], ["b", "b.ts"]);
  const first = calls(["a", "a.ts"]);
  const [A, B] = ['{"path":"a.ts"}', '{"path":"b.ts"}'];
  const _ = undefined;

  /** A chunk with one piece of a call; undefined fields are left out, as JSON does. */
  const piece = (index: number | undefined, id: string | undefined, name?: string, args?: unknown) =>
    callDelta({ index, id, function: { name, arguments: args } });

  test("calls are joined from every form of deltas", () =>
    everyRow<[string, unknown[], unknown[]]>([
      [
        "parallel, in turns",
        [
          piece(0, "a", "read", ""),
          piece(1, "b", "read", '{"path":'),
          piece(0, _, _, A),
          piece(1, _, _, '"b.ts"}'),
        ],
        both,
      ],
      [
        "whole, in one chunk",
        [
          callDelta(
            { index: 0, id: "a", function: { name: "read", arguments: A } },
            { index: 1, id: "b", function: { name: "read", arguments: B } },
          ),
        ],
        both,
      ],
      ["all counted as 0", [piece(0, "a", "read", A), piece(0, "b", "read", B)], both],
      ["without an index", [piece(_, "a", "read", A), piece(_, "b", "read", B)], both],
      [
        "without an index, pieces by id",
        [piece(_, "a", "read"), piece(_, "a", _, '{"path":"a'), piece(_, "a", _, '.ts"}')],
        first,
      ],
      ["a new id with each piece", [piece(0, "a", "read", '{"path"'), piece(0, "x", _, ':"a.ts"}')], first],
      ["an id that comes late", [piece(0, _, "read", '{"path":'), piece(0, "a", _, '"a.ts"}')], first],
      ["a name in pieces", [piece(0, "a", "re"), piece(0, _, "ad"), piece(0, _, _, A)], first],
      ["a name that grows", [piece(0, "a", "re"), piece(0, "a", "read", A)], first],
      [
        "a name again with each piece",
        [piece(0, "a", "read", '{"path":'), piece(0, "a", "read", '"a.ts"}')],
        first,
      ],
      ["arguments as an object", [piece(0, "a", "read", { path: "a.ts" })], first],
      ["no arguments", [piece(0, "a", "ls")], [{ type: "toolCall", id: "a", name: "ls", arguments: {} }]],
      [
        "arguments that are no JSON",
        [piece(0, "a", "read", '{"path":')],
        [{ type: "toolCall", id: "a", name: "read", arguments: { [MALFORMED_ARGUMENTS]: '{"path":' } }],
      ],
      [
        "Gemini's signature",
        [
          callDelta({
            index: 0,
            id: "a",
            function: { name: "read", arguments: A },
            extra_content: { google: { thought_signature: "s1" } },
          }),
        ],
        [{ ...first[0], thoughtSignature: "s1" }],
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
