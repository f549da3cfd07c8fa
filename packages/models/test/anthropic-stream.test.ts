import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { claude, exchange, messageEnd, messageStart, streamOf, textBlock } from "./anthropic-exchange.ts";
import { failureOf } from "./provider-exchange.ts";
import { served } from "./served.ts";

describe("the usage of an answer", () => {
  test("all counts, the hour's part of the cache, the thinking, and the cost", async () => {
    const { url } = await served(
      streamOf([
        messageStart({
          input_tokens: 100,
          output_tokens: 1,
          cache_read_input_tokens: 2_000,
          cache_creation_input_tokens: 300,
          cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 100 },
        }),
        ...textBlock(0, "x"),
        ...messageEnd("end_turn", { output_tokens: 50, output_tokens_details: { thinking_tokens: 30 } }),
      ]),
    );
    const { message } = await exchange(url);
    expect(message.usage).toMatchObject({
      input: 100,
      output: 50,
      cacheRead: 2_000,
      cacheWrite: 300,
      cacheWrite1h: 100,
      reasoning: 30,
      totalTokens: 2_450,
    });
    // 100 at 4, 50 at 20, 2,000 at 0.4, 200 at 5 and 100 at twice the input's price.
    expect(message.usage.cost.total).toBeCloseTo((400 + 1_000 + 800 + 1_000 + 800) / 1e6, 12);
  });

  test("counts that come only at the end are taken", async () => {
    const { url } = await served(
      streamOf([
        messageStart({ input_tokens: 0, output_tokens: 0 }),
        ...textBlock(0, "x"),
        ...messageEnd("end_turn", { input_tokens: 70, cache_read_input_tokens: 5, output_tokens: 9 }),
      ]),
    );
    const { message } = await exchange(url);
    expect(message.usage).toMatchObject({ input: 70, output: 9, cacheRead: 5, cacheWrite: 0 });
    expect(message.usage).not.toHaveProperty("reasoning");
  });

  test("a zero at the end does not take back what the start had", async () => {
    const { url } = await served(
      streamOf([
        messageStart({ input_tokens: 70, output_tokens: 1, cache_read_input_tokens: 5 }),
        ...textBlock(0, "x"),
        ...messageEnd("end_turn", { input_tokens: 0, cache_read_input_tokens: null, output_tokens: 9 }),
      ]),
    );
    const { message } = await exchange(url);
    expect(message.usage).toMatchObject({ input: 70, output: 9, cacheRead: 5 });
  });

  test("no usage at all is no error", async () => {
    const start = { type: "message_start", message: { id: "msg_1" } };
    const stop = { type: "message_delta", delta: { stop_reason: "end_turn" } };
    const { url } = await served(streamOf([start, ...textBlock(0, "x"), stop, { type: "message_stop" }]));
    const { message, error } = await exchange(url);
    expect(error).toBeUndefined();
    expect(message.usage.totalTokens).toBe(0);
  });

  test("another model than the one that was asked is named", async () => {
    const start = { ...messageStart(), message: { id: "msg_1", model: "claude-opus-5-5-20261001" } };
    const { url } = await served(streamOf([start, ...textBlock(0, "x"), ...messageEnd("end_turn")]));
    const { message } = await exchange(url);
    expect(message).toMatchObject({ model: claude.id, responseModel: "claude-opus-5-5-20261001" });
  });
});

describe("why an answer stopped", () => {
  test("maps the API's stop reasons", () =>
    everyRow([
      ["end_turn", "stop"],
      ["stop_sequence", "stop"],
      ["pause_turn", "stop"],
      ["max_tokens", "length"],
      ["tool_use", "stop"],
      ["a_reason_of_tomorrow", "stop"],
    ])(async ([raw, stopReason]) => {
      const { url } = await served(streamOf([messageStart(), ...textBlock(0, "x"), ...messageEnd(raw)]));
      const { message, error } = await exchange(url);
      expect(error).toBeUndefined();
      expect(message).toMatchObject({ stopReason, rawStopReason: raw });
    }));

  test("the end of the window is a refusal that names itself", async () => {
    const raw = "model_context_window_exceeded";
    const { url } = await served(streamOf([messageStart(), ...textBlock(0, "half"), ...messageEnd(raw)]));
    const result = await exchange(url);
    expect(failureOf(result)).toMatchObject({ kind: "refused", code: raw, status: undefined });
    expect(failureOf(result).message).toContain(raw);
    expect(result.message).toMatchObject({ rawStopReason: raw, usage: { input: 10, output: 20 } });
    expect(result.message.content).toEqual([{ type: "text", text: "half" }]);
  });

  test("a refusal is an error in the provider's words", () =>
    everyRow([
      [{ type: "refusal", category: "cyber", explanation: "Not this." }, "Not this."],
      [null, "The model declined to answer (refusal)."],
    ])(async ([details, message]) => {
      const { url } = await served(
        streamOf([
          messageStart(),
          ...textBlock(0, "I"),
          ...messageEnd("refusal", { output_tokens: 3 }, details),
        ]),
      );
      const result = await exchange(url);
      expect(failureOf(result)).toMatchObject({ kind: "refused", code: "refusal", message });
      expect(result.message).toMatchObject({
        stopReason: "error",
        rawStopReason: "refusal",
        usage: { output: 3 },
      });
    }));
});

describe("an answer in one piece", () => {
  const whole = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: claude.id,
    content: [
      { type: "thinking", thinking: "I see", signature: "sig" },
      { type: "text", text: "Hi\nthere" },
      { type: "tool_use", id: "toolu_a", name: "read", input: { path: "a.ts" } },
      { type: "tool_use", id: "toolu_b", name: "list", input: {} },
    ],
    stop_reason: "tool_use",
    usage: { input_tokens: 10, output_tokens: 20, cache_read_input_tokens: 5 },
  };
  const json = (text: string, type = "application/json") =>
    served({ headers: { "content-type": type }, chunks: [text] });

  test("has its text, thinking, calls and usage", async () => {
    const { url } = await json(JSON.stringify(whole, undefined, 2));
    const { message, events, error } = await exchange(url);
    expect(error).toBeUndefined();
    expect(message).toMatchObject({
      content: [
        { type: "thinking", thinking: "I see", thinkingSignature: "sig" },
        { type: "text", text: "Hi\nthere" },
        { type: "toolCall", id: "toolu_a", name: "read", arguments: { path: "a.ts" } },
        { type: "toolCall", id: "toolu_b", name: "list", arguments: {} },
      ],
      stopReason: "toolUse",
      responseId: "msg_1",
      usage: { input: 10, output: 20, cacheRead: 5 },
    });
    expect(events.flatMap((event) => (event.type === "tool_call" ? event.toolCall?.id : []))).toContain(
      "toolu_b",
    );
  });

  test("is read from answers of other content types too", () =>
    everyRow(["application/problem+json", "text/json; charset=utf-8", "application/vnd.api+json"])(
      async (type) => {
        const { message } = await exchange((await json(JSON.stringify(whole), type)).url);
        expect(message.content).toHaveLength(4);
      },
    ));

  test("is a refusal if the body reports an error", () =>
    everyRow([
      [{ type: "error", error: { type: "overloaded_error", message: "Busy" } }, "Busy", 529],
      [{ error: "prompt too long" }, "prompt too long", undefined],
      [{ detail: "no such model" }, "no such model", undefined],
      [{ title: "Bad", status: 400, detail: "no such model" }, "no such model", 400],
      [{ type: "error" }, '{"type":"error"}', undefined],
    ])(async ([body, message, status]) => {
      const result = await exchange((await json(JSON.stringify(body), "application/problem+json")).url);
      expect(failureOf(result)).toMatchObject({ kind: "refused", message, status });
    }));

  test("is garbled if its JSON is cut off", async () => {
    const result = await exchange((await json(JSON.stringify(whole).slice(0, -20))).url);
    expect(failureOf(result)).toMatchObject({ kind: "garbled" });
    expect(result.message.content).toEqual([]);
  });

  test("is refused with the window's end as with events", async () => {
    const raw = "model_context_window_exceeded";
    const result = await exchange((await json(JSON.stringify({ ...whole, stop_reason: raw }))).url);
    expect(failureOf(result)).toMatchObject({ kind: "refused", code: raw });
  });
});

test("an error event without data is a refusal with a message", async () => {
  const { url } = await served({
    headers: { "content-type": "text/event-stream" },
    chunks: ["event: error\ndata:\n\n"],
  });
  expect(failureOf(await exchange(url)).message).toBe("The server sent an error without a message.");
});

test("an error after the last event changes nothing", async () => {
  const error = { type: "error", error: { type: "api_error", message: "Too late" } };
  const events = [messageStart(), ...textBlock(0, "All."), ...messageEnd("end_turn"), error];
  const result = await exchange((await served(streamOf(events))).url);
  expect(result.error).toBeUndefined();
  expect(result.message.content).toEqual([{ type: "text", text: "All." }]);
});
