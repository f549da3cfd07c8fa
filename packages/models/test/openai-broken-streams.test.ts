import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test, vi } from "vitest";
import { delta, exchange, gpt, local, responseEnd, responsesOf, streamOf } from "./openai-exchange.ts";
import { protocols, tooLong, whole } from "./openai-protocols.ts";
import { failureOf } from "./provider-exchange.ts";
import { providerWires } from "./provider-wires.ts";
import { served } from "./served.ts";

describe("errors inside the stream", () => {
  test("Chat: a broken body is reported by its kind", () =>
    everyRow<[string, unknown, Record<string, unknown>]>([
      [
        "LiteLLM",
        { error: { message: "litellm.MidStreamFallbackError: too long", type: null, code: "503" } },
        { status: 503, message: "litellm.MidStreamFallbackError: too long", code: "503" },
      ],
      [
        "OpenRouter",
        { id: "x", error: { code: 429, message: "Busy" }, choices: [] },
        { status: 429, message: "Busy" },
      ],
      ["a bare word", { error: "context length exceeded" }, { message: "context length exceeded" }],
      [
        "vLLM",
        { object: "error", message: "too long", code: 400, type: "BadRequestError" },
        { status: 400, code: "BadRequestError" },
      ],
      [
        "MiniMax",
        { base_resp: { status_code: 2013, status_msg: "invalid params" } },
        { message: "invalid params" },
      ],
      [
        "Google",
        [{ error: { code: 503, message: "Overloaded", status: "UNAVAILABLE" } }],
        { status: 503, code: "UNAVAILABLE" },
      ],
    ])(async ([, body, expected]) => {
      const result = await exchange((await served(streamOf([delta({ content: "Half" }), body]))).url);
      expect(failureOf(result)).toMatchObject({ kind: "refused", ...expected });
      expect(failureOf(result).body).toBeDefined();
      expect(result.message.content).toEqual([{ type: "text", text: "Half" }]);
    }));

  test("Responses: an event without its fields is reported by its kind", () =>
    everyRow<[string, Record<string, unknown>, Record<string, unknown>]>([
      [
        "an error event",
        { type: "error", code: "server_error", message: "Oh", sequence_number: 1 },
        { code: "server_error", message: "Oh" },
      ],
      [
        "an error inside an error event",
        { type: "error", error: { code: "x", message: "Oh" } },
        { code: "x", message: "Oh" },
      ],
      [
        "a failed response",
        responseEnd({ status: "failed", error: { code: "context_length_exceeded", message: tooLong } }),
        { code: "context_length_exceeded", message: tooLong },
      ],
    ])(async ([, event, expected]) => {
      const half = { type: "response.output_text.delta", output_index: 0, delta: "Half" };
      const named = await exchange((await served(responsesOf([half, event]))).url, { model: gpt });
      expect(failureOf(named)).toMatchObject({ kind: "refused", ...expected });
      expect(named.message.content).toEqual([{ type: "text", text: "Half" }]);
      const nameless = await exchange((await served(streamOf([half, event]))).url, { model: gpt });
      expect(failureOf(nameless)).toMatchObject({ kind: "refused", ...expected });
    }));

  test("a line that is no JSON is garbled, and stays off the console", () =>
    everyRow(protocols)(async ([, model]) => {
      const spy = vi.spyOn(console, "error");
      const failure = failureOf(await exchange((await served(streamOf(["{nonsense"]))).url, { model }));
      expect(failure).toMatchObject({ kind: "garbled" });
      expect(spy).not.toHaveBeenCalled();
    }));

  test("data of another shape is garbled", () =>
    everyRow([
      ...protocols.map(([name, model]) => [name, model, 7] as const),
      ["chat", local, { choices: 7 }] as const,
    ])(async ([, model, data]) => {
      const failure = failureOf(await exchange((await served(streamOf([data]))).url, { model }));
      expect(failure).toMatchObject({ kind: "garbled", body: data });
    }));
});

describe("an error event after a complete answer", () => {
  const error = { error: { message: "Blocked by a guardrail", code: "content_policy" } };
  const late = `data: ${JSON.stringify(error)}\n\n`;

  test("an error before [DONE] fails the answer", () =>
    everyRow(whole)(async ([, model, reply]) => {
      const chunks = [...(reply.chunks ?? []).filter((chunk) => !String(chunk).includes("[DONE]")), late];
      const failure = failureOf(await exchange((await served({ ...reply, chunks })).url, { model }));
      expect(failure).toMatchObject({ kind: "refused", message: "Blocked by a guardrail" });
    }));

  test("an error after [DONE] changes nothing", () =>
    everyRow(whole)(async ([, model, reply]) => {
      const chunks = [...(reply.chunks ?? []), "data: [DONE]\n\n", late];
      const result = await exchange((await served({ ...reply, chunks })).url, { model });
      expect(result.error).toBeUndefined();
      expect(result.message.content).toEqual([{ type: "text", text: "All." }]);
    }));
});

test("odd data after a complete answer, instead of [DONE], changes nothing", () =>
  everyRow(["DONE", "[done]", '{"id":', "7", "[]", '{"choices":7}'])(async (data) => {
    const [, , reply] = whole[0];
    const chunks = (reply.chunks ?? []).map((chunk) => String(chunk).replace("[DONE]", data));
    const result = await exchange((await served({ ...reply, chunks })).url);
    expect(result.error).toBeUndefined();
    expect(result.message.content).toEqual([{ type: "text", text: "All." }]);
  }));

test("a Responses call without its end is cut, [DONE] or not", async () => {
  const { openCall } = providerWires[2]!;
  const reply = openCall();
  const chunks = [...(reply.chunks ?? []), "data: [DONE]\n\n"];
  const result = await exchange((await served({ ...reply, chunks })).url, { model: gpt });
  expect(failureOf(result)).toMatchObject({ kind: "cut" });
});
