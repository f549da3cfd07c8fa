import type { LoopbackReply } from "@bonsai-agent/testkit";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import type { ProviderApi } from "../src/index.ts";
import { anthropicStart, ask, json, sse, typed } from "./client-over-http.ts";

const WORDS = "The conversation no longer fits into the context of this model (131072 tokens)";
const WINDOW = 200_000;

const chunk = (delta: object, finish: string | null, more: object = {}) => ({
  data: { id: "a", model: "m", choices: [{ index: 0, delta, finish_reason: finish }], ...more },
});
const END = { data: "[DONE]" };
const usage = (input: number) => ({
  usage: { prompt_tokens: input, completion_tokens: 0, total_tokens: input },
});
const response = (status: string | undefined, more: object = {}) => ({
  id: "r",
  object: "response",
  model: "m",
  status,
  ...more,
});
const incomplete = (reason: string, more: object = {}) =>
  typed([
    {
      type: "response.incomplete",
      response: response("incomplete", { incomplete_details: { reason }, ...more }),
    },
  ]);
const anthropicEnd = (reason: string) => [
  { type: "message_delta", delta: { stop_reason: reason }, usage: { output_tokens: 0 } },
  { type: "message_stop" },
];
const anthropicStarted = (input: number) => ({
  ...anthropicStart,
  message: { ...anthropicStart.message, usage: { input_tokens: input, output_tokens: 0 } },
});

const overflows: Record<string, Record<string, LoopbackReply>> = {
  "openai-chat": {
    "a body with status 200": json(200, { error: { message: WORDS, type: "invalid_request_error" } }),
    "a body that calls itself an error": json(200, { object: "error", message: WORDS }),
    "an error in the stream": sse([{ data: { error: { message: WORDS } } }]),
    "an error event of text": sse([{ event: "error", data: WORDS }]),
    "an error after text": sse([chunk({ content: "Hi" }, null), { data: { error: { message: WORDS } } }]),
    "an error beside a choice": sse([
      { data: { choices: [{ index: 0, delta: {}, finish_reason: null, error: { message: WORDS } }] } },
    ]),
    "a list of errors": sse([{ data: { errors: [{ message: WORDS }] } }]),
    "an error message of another name": sse([{ data: { status: "error", error_message: WORDS } }]),
    "Google's list of errors": sse([{ data: [{ error: { code: 400, message: WORDS } }] }]),
    "Google's feedback on the prompt": sse([
      { data: { promptFeedback: { blockReason: "OTHER", blockReasonMessage: WORDS } } },
    ]),
    "a reason to finish": sse([chunk({}, "context_length_exceeded"), END]),
    "a reason to finish, after text": sse([
      chunk({ content: "Half" }, null),
      chunk({}, "model_context_window_exceeded"),
      END,
    ]),
    "no token of an answer, stopped for length": sse([chunk({}, "length", usage(WINDOW * 0.7)), END]),
  },
  "openai-responses": {
    "a failed response": typed([
      {
        type: "response.failed",
        response: response("failed", { error: { code: "context_length_exceeded" } }),
      },
    ]),
    "a failed response without a status": typed([
      { type: "response.failed", response: response(undefined, { error: { message: WORDS } }) },
    ]),
    "an error event": typed([{ type: "error", message: WORDS }]),
    "a body with status 200": json(200, { error: { message: WORDS } }),
    "an incomplete response for its context": incomplete("context_length_exceeded"),
    "an incomplete response for its prompt": incomplete("max_prompt_tokens"),
    "an incomplete response without a token": incomplete("max_output_tokens", {
      usage: { input_tokens: WINDOW * 0.7, output_tokens: 0, total_tokens: WINDOW * 0.7 },
    }),
  },
  "anthropic-messages": {
    "an error event": typed([
      anthropicStart,
      { type: "error", error: { type: "api_error", message: WORDS } },
    ]),
    "an error event of text": sse([{ event: "error", data: WORDS }]),
    "an error without a type": sse([{ data: { error: { message: WORDS } } }]),
    "a sentence without a type": sse([{ data: { message: WORDS, code: 400 } }]),
    "a body with status 200": json(200, {
      type: "error",
      error: { type: "invalid_request_error", message: WORDS },
    }),
    "a reason to stop": typed([anthropicStart, ...anthropicEnd("model_context_window_exceeded")]),
    "no token of an answer, stopped for length": typed([
      anthropicStarted(WINDOW * 0.7),
      ...anthropicEnd("max_tokens"),
    ]),
  },
};

const others: Record<string, Record<string, LoopbackReply>> = {
  "openai-chat": {
    "the output limit": sse([chunk({ content: "Half" }, "length", usage(WINDOW * 0.7)), END]),
    "the output limit by another name": sse([chunk({ content: "Half" }, "max_output_tokens"), END]),
    "a filter": sse([chunk({ content: "Half" }, "content_filter"), END]),
    "a stop": sse([chunk({ content: "The context window was exceeded." }, "stop"), END]),
    "an empty answer to a small request": sse([chunk({}, "length", usage(2_000)), END]),
    "a rate limit in the stream": sse([
      { data: { error: { message: "Too many tokens per minute", code: 429 } } },
    ]),
    "a large image": sse([{ data: { error: { message: "The image does not fit: at most 8000 pixels." } } }]),
  },
  "openai-responses": {
    "the output limit": incomplete("max_output_tokens"),
    "a filter": incomplete("content_filter"),
  },
  "anthropic-messages": {
    "an overloaded server": typed([
      { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
    ]),
    billing: typed([
      { type: "error", error: { type: "billing_error", message: "Your credit does not fit this request." } },
    ]),
  },
};

const long = { messages: [{ role: "user" as const, content: "word ".repeat(140_000), timestamp: 0 }] };
const rows = (table: typeof overflows) =>
  Object.entries(table).flatMap(([api, replies]) =>
    Object.entries(replies).map(([name, reply]) => [api as ProviderApi, name, reply] as const),
  );

test("an overflow inside an answer is reported as one", () =>
  everyRow(rows(overflows))(async ([api, , reply]) => {
    const { end, notices } = await ask(api, [reply], {}, long);
    expect(end).toMatchObject({
      type: "error",
      failure: { kind: "inputTooLong" },
      message: { stopReason: "error" },
    });
    expect(notices.map(({ type }) => type)).not.toContain("retry");
  }));

test("an answer that only resembles an overflow is none", () =>
  everyRow(rows(others))(async ([api, , reply]) => {
    const { end } = await ask(
      api,
      Array.from({ length: 8 }, () => reply),
    );
    expect(end.type === "error" ? end.failure?.kind : "done").not.toBe("inputTooLong");
  }));
