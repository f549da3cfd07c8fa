import { sseChunks } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import {
  block,
  callBlock,
  exchange,
  messageEnd,
  messageStart,
  streamOf,
  textBlock,
} from "./anthropic-exchange.ts";
import { served } from "./served.ts";

describe("the content of an answer", () => {
  test("text comes piece by piece, with the answer so far", async () => {
    const { url } = await served(
      streamOf([messageStart(), ...textBlock(0, "Good ", "day."), ...messageEnd("end_turn")]),
    );
    const { events, message } = await exchange(url);
    expect(events.map((event) => event.type === "text" && [event.contentIndex, event.delta])).toEqual([
      [0, "Good "],
      [0, "day."],
    ]);
    expect(message.content).toEqual([{ type: "text", text: "Good day." }]);
    expect(message).toMatchObject({ stopReason: "stop", rawStopReason: "end_turn", responseId: "msg_1" });
    expect(message).not.toHaveProperty("responseModel");
  });

  test("text blocks in a row stay apart, and an empty one leaves nothing", async () => {
    const { url } = await served(
      streamOf([
        messageStart(),
        ...textBlock(0, "one"),
        ...textBlock(1),
        ...textBlock(2, "two"),
        ...block(3, { type: "text", text: "three" }),
        ...messageEnd("end_turn"),
      ]),
    );
    const { message } = await exchange(url);
    expect(message.content).toEqual(["one", "two", "three"].map((text) => ({ type: "text", text })));
  });

  test("thinking keeps its signature, and what is withheld keeps its data", async () => {
    const { url } = await served(
      streamOf([
        messageStart(),
        ...block(0, { type: "thinking", thinking: "", signature: "" }, [
          { type: "thinking_delta", thinking: "Let me " },
          { type: "thinking_delta", thinking: "see." },
          { type: "signature_delta", signature: "sig-1" },
        ]),
        ...block(1, { type: "redacted_thinking", data: "ENCRYPTED" }),
        ...block(2, { type: "thinking", thinking: "", signature: "" }, [
          { type: "signature_delta", signature: "sig-2" },
        ]),
        ...textBlock(3, "Done."),
        ...messageEnd("end_turn"),
      ]),
    );
    const { events, message } = await exchange(url);
    expect(message.content).toEqual([
      { type: "thinking", thinking: "Let me see.", thinkingSignature: "sig-1" },
      { type: "thinking", thinking: "", thinkingSignature: "ENCRYPTED", redacted: true },
      { type: "thinking", thinking: "", thinkingSignature: "sig-2" },
      { type: "text", text: "Done." },
    ]);
    expect(events.filter((event) => event.type === "thinking").map((event) => event.delta)).toEqual([
      "Let me ",
      "see.",
    ]);
  });

  test("parallel calls take their own arguments, even when the pieces are mixed", async () => {
    const [startA, ...restA] = callBlock(0, "toolu_a", "read", '{"path":', '"a.ts"}');
    const [startB, ...restB] = callBlock(1, "toolu_b", "read", '{"path":', '"b.ts"}');
    const mixed = restA.flatMap((event, index) => [event, restB[index] ?? event]);
    const events = [messageStart(), startA, startB, ...mixed, ...messageEnd("tool_use")];
    const { url } = await served(streamOf(events.filter((event) => event !== undefined)));
    const { message, events: seen } = await exchange(url);
    expect(message.content).toEqual([
      { type: "toolCall", id: "toolu_a", name: "read", arguments: { path: "a.ts" } },
      { type: "toolCall", id: "toolu_b", name: "read", arguments: { path: "b.ts" } },
    ]);
    expect(message.stopReason).toBe("toolUse");
    const complete = seen.filter((event) => event.type === "tool_call" && event.toolCall !== undefined);
    expect(complete).toHaveLength(2);
  });

  test.each([
    ["no arguments at all", [], {}],
    ["arguments cut short", ['{"path": "a'], { "bonsai.malformedArguments": '{"path": "a' }],
    ["arguments that are no object", ["[1]"], { "bonsai.malformedArguments": "[1]" }],
  ])("a call with %s is kept", async (_name, pieces, args) => {
    const { url } = await served(
      streamOf([messageStart(), ...callBlock(0, "toolu_a", "ls", ...pieces), ...messageEnd("tool_use")]),
    );
    const { message } = await exchange(url);
    expect(message.content).toEqual([{ type: "toolCall", id: "toolu_a", name: "ls", arguments: args }]);
  });

  test("arguments that come whole with the start of a call are taken", async () => {
    const start = { type: "tool_use", id: "toolu_a", name: "read", input: { path: "a.ts" } };
    const { url } = await served(streamOf([messageStart(), ...block(0, start), ...messageEnd(null)]));
    const { message } = await exchange(url);
    expect(message.content).toMatchObject([{ type: "toolCall", arguments: { path: "a.ts" } }]);
    expect(message.stopReason).toBe("toolUse");
    expect(message).not.toHaveProperty("rawStopReason");
  });

  test("a call that the server forgot to close ends with the answer", async () => {
    const [start, piece] = callBlock(0, "toolu_a", "read", '{"path":"a.ts"}');
    const events = [messageStart(), start, piece, ...messageEnd("tool_use")];
    const { url } = await served(streamOf(events.filter((event) => event !== undefined)));
    const { message } = await exchange(url);
    expect(message.content).toMatchObject([{ type: "toolCall", arguments: { path: "a.ts" } }]);
  });

  test("arguments that come with the start and again in pieces are taken once", async () => {
    const start = { type: "tool_use", id: "toolu_a", name: "read", input: { path: "a.ts" } };
    const pieces = [{ type: "input_json_delta", partial_json: '{"path":"a.ts"}' }];
    const { url } = await served(
      streamOf([messageStart(), ...block(0, start, pieces), ...messageEnd("tool_use")]),
    );
    const { message } = await exchange(url);
    expect(message.content).toMatchObject([{ type: "toolCall", arguments: { path: "a.ts" } }]);
  });

  test("a ping adds nothing, wherever it stands", async () => {
    const [textStart, piece] = textBlock(0, "x");
    const [callStart, args, callStop] = callBlock(1, "toolu_a", "read", '{"path":"a.ts"}');
    const [thinkStart, , thinkStop] = block(2, { type: "thinking", thinking: "", signature: "" }, [{}]);
    const ping = { type: "ping" };
    const parts = [textStart, ping, piece, ping, ...textBlock(0).slice(1)];
    const calls = [callStart, ping, args, ping, callStop, ping];
    const events = [ping, ...parts, ...calls, thinkStart, ping, thinkStop];
    const { url } = await served(
      streamOf([messageStart(), ...events.filter((event) => event !== undefined), ...messageEnd("tool_use")]),
    );
    const { message, events: seen } = await exchange(url);
    expect(seen.map((event) => event.type)).toEqual(["text", ...["tool_call", "tool_call", "tool_call"]]);
    expect(message.content).toEqual([
      { type: "text", text: "x" },
      { type: "toolCall", id: "toolu_a", name: "read", arguments: { path: "a.ts" } },
      { type: "thinking", thinking: "" },
    ]);
  });

  test("events need no name beside their type, and a word of farewell is passed over", async () => {
    const data = [messageStart(), ...textBlock(0, "x"), ...messageEnd("end_turn").slice(0, 1)];
    const last = { event: "message_stop", data: { type: "message_stop" } };
    const chunks = sseChunks([...data.map((body) => ({ data: body })), { data: "[DONE]" }, last]);
    const { message, error } = await exchange((await served({ ...streamOf([]), chunks })).url);
    expect(error).toBeUndefined();
    expect(message.content).toEqual([{ type: "text", text: "x" }]);
  });

  test("blocks, deltas and events of an unknown kind are passed over", async () => {
    const { url } = await served(
      streamOf([
        messageStart(),
        { type: "ping" },
        { type: "weather_report", sky: "clear" },
        ...block(0, { type: "hologram", shape: "cube" }, [{ type: "hologram_delta", shape: "sphere" }]),
        { type: "content_block_delta", index: 7, delta: { type: "text_delta", text: "from nowhere" } },
        ...textBlock(1, "Here."),
        ...messageEnd("end_turn"),
      ]),
    );
    const { message } = await exchange(url);
    expect(message.content).toEqual([{ type: "text", text: "Here." }]);
  });
});
