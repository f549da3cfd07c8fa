import { everyRow, type WireName } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { type AnswerEnd, answerEnd } from "../src/failure/answer-end.ts";
import { type WireEvents, wireServer } from "./wire-server.ts";

const { ask } = wireServer();

/** The documented reasons of servers, by reaction. */
const reasons: Record<AnswerEnd, string> = {
  done: "stop end_turn stop_sequence tool_calls tool_use function_call completed eos eos_token COMPLETE STOP",
  limit: "length max_tokens max_output_tokens MAX_TOKENS model_length model_context_window_exceeded",
  retry:
    "insufficient_system_resource network_error error abort cancelled timeout MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL malformed_tool_use malformed_model_output ERROR out_of_memory",
  withheld:
    "content_filter content_filtered sensitive safety SAFETY refusal RECITATION PROHIBITED_CONTENT BLOCKLIST SPII guardrail_intervened IMAGE_SAFETY ERROR_TOXIC",
  unknown: "pause_turn OTHER LANGUAGE load zebra",
};

test("recognises the reasons for an end in every spelling", () =>
  everyRow(Object.entries(reasons))(([end, words]) => {
    for (const word of words.split(" ")) {
      expect([word, answerEnd(word)]).toEqual([word, end]);
      expect(answerEnd(word.toUpperCase().replaceAll("_", "-"))).toBe(end);
    }
  }));

/** Builds an answer that ends with a reason, for each protocol. */
const endings: Record<WireName, (reason: string, text: string) => WireEvents> = {
  "openai-chat": (reason, text) => [
    { data: { choices: [{ index: 0, delta: { content: text } }] } },
    { data: { choices: [{ index: 0, delta: {}, finish_reason: reason }] } },
    { data: "[DONE]" },
  ],
  "openai-responses": (reason, text) => [
    { data: { type: "response.output_text.delta", output_index: 0, delta: text } },
    {
      data: {
        type: "response.incomplete",
        response: { status: "incomplete", incomplete_details: { reason } },
      },
    },
  ],
  "anthropic-messages": (reason, text) => [
    { data: { type: "message_start", message: { id: "a", model: "m" } } },
    { data: { type: "content_block_start", index: 0, content_block: { type: "text", text } } },
    { data: { type: "content_block_stop", index: 0 } },
    { data: { type: "message_delta", delta: { stop_reason: reason } } },
    { data: { type: "message_stop" } },
  ],
};

const everyWire = everyRow(Object.keys(endings) as WireName[]);

test("a lack of resources sends the request again and keeps the output limit", () =>
  everyWire(async (api) => {
    const asked = await ask(api, endings[api]("insufficient_system_resource", "Half"));
    expect(asked.requests).toBe(2);
    expect(asked.notices.map(({ type }) => type)).toEqual(["retry"]);
    expect(asked.final).toMatchObject({ failure: { kind: "other", retryable: true } });
  }));

test("keeps a partial answer that ended with an odd reason, and notifies", () =>
  everyWire((api) =>
    everyRow(["content_filter", "zebra"])(async (reason) => {
      const asked = await ask(api, endings[api](reason, "Half"));
      expect(asked.final).toMatchObject({
        type: "done",
        message: { stopReason: "stop", rawStopReason: reason },
      });
      expect(asked.notices).toEqual([
        {
          type: "odd_end",
          reason,
          isWithheld: reason === "content_filter",
          provider: "local",
          modelId: "qwen3",
        },
      ]);
    }),
  ));

test("a stream error that may pass sends the request again", () =>
  everyWire((api) =>
    everyRow([
      '{"error":"overloaded"}',
      '{"error":{"message":"Internal server error"}}',
      '{"error":{"message":"Something odd happened"}}',
      '{"error":{"status":"503","message":"x"}}',
      '{"message":"unexpected EOF"}',
      '{"error":"context deadline exceeded"}',
      '{"error":"max concurrent answers reached"}',
    ])(async (data) => {
      for (const event of [undefined, "error"]) {
        const asked = await ask(api, [{ event, data: JSON.parse(data) }]);
        expect([event, asked.requests]).toEqual([event, 2]);
      }
    }),
  ));

test("an error event with a text of a broken server sends the request again", () =>
  everyWire((api) =>
    everyRow([
      "Internal server error",
      "unexpected EOF",
      "overloaded",
      "connection reset by peer",
      "502 Bad Gateway",
    ])(async (data) => {
      expect((await ask(api, [{ event: "error", data }])).requests).toBe(2);
    }),
  ));

test("an error event with a refusal as text ends the request", () =>
  everyWire((api) =>
    everyRow([
      "Invalid API key",
      "401 Unauthorized",
      "model not found",
      "insufficient credits",
      "invalid_request_error: bad tool",
    ])(async (data) => {
      expect((await ask(api, [{ event: "error", data }])).requests).toBe(1);
    }),
  ));
