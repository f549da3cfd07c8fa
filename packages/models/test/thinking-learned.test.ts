import { everyRow, type LoopbackReply, loopbackServer } from "@bonsai-agent/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type CatalogueModel, finalEvent, ModelClient } from "../src/index.ts";
import {
  answerOf,
  callOfTool,
  delta,
  finish,
  local,
  resultOf,
  streamOf,
  turnOf,
  user,
} from "./openai-exchange.ts";

interface WireMessage {
  role: string;
  reasoning_content?: string;
}
let refusal: (messages: WireMessage[]) => LoopbackReply | undefined;
let sent: WireMessage[][] = [];
let server: Awaited<ReturnType<typeof loopbackServer>>;
beforeAll(async () => {
  server = await loopbackServer(({ body }) => {
    const { messages } = body as { messages: WireMessage[] };
    sent.push(messages);
    return refusal(messages) ?? streamOf([delta({ content: "Done." }), finish(), "[DONE]"]);
  });
});
afterAll(() => server.close());
beforeEach(() => {
  sent = [];
});

const box = (): CatalogueModel => ({ ...local, provider: "box", id: "some-model", baseUrl: server.url });

function history(model: CatalogueModel) {
  const thought = answerOf(model, [{ type: "thinking", thinking: "Look first." }, callOfTool("call_1")]);
  const silent = answerOf(model, [callOfTool("call_2")]);
  return [user("a"), thought, resultOf("call_1", "x"), silent, resultOf("call_2", "y")];
}

function ask(client: ModelClient, model: CatalogueModel) {
  return finalEvent(client.stream(turnOf(model, { messages: history(model) })));
}

const answersOf = (messages: WireMessage[]) => messages.filter(({ role }) => role === "assistant");
const json = (status: number, body: unknown): LoopbackReply => ({
  status,
  headers: { "content-type": "application/json" },
  chunks: [JSON.stringify(body)],
});

const words = [
  "The `reasoning_content` in the thinking mode must be passed back to the API.",
  "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1",
  "messages.1: field required: reasoning_content",
  "Thinking mode requires the reasoning of each assistant message with tool calls",
];

describe("a gateway that wants thinking back", () => {
  test("gets the thinking after its refusal", () =>
    everyRow(
      words.flatMap((text) => [
        [text, 400, { error: { message: text, type: "invalid_request_error" } }] as const,
        [text, 422, { detail: [{ loc: ["body"], msg: text, input: { stream_options: 1 } }] }] as const,
        [text, 200, { error: text }] as const,
      ]),
    )(async ([, status, body]) => {
      sent = [];
      refusal = (messages) => {
        const isMissing = answersOf(messages).some(({ reasoning_content: text }) => !text);
        return isMissing ? json(status, body) : undefined;
      };
      const client = new ModelClient({ sleep: async () => {} });
      expect(await ask(client, box())).toMatchObject({ type: "done" });
      expect(sent).toHaveLength(2);
      expect(answersOf(sent[1]!).map(({ reasoning_content: text }) => text)).toEqual(["Look first.", "."]);
      await ask(client, box());
      expect(sent).toHaveLength(3);
    }));

  test("is remembered only for its model", async () => {
    refusal = (messages) =>
      answersOf(messages).some(({ reasoning_content: text }) => !text)
        ? json(400, { error: { message: words[0] } })
        : undefined;
    const client = new ModelClient({ sleep: async () => {} });
    await ask(client, box());
    refusal = () => undefined;
    await ask(client, { ...box(), id: "other" });
    expect(answersOf(sent.at(-1)!)[0]).not.toHaveProperty("reasoning_content");
  });

  test("gets an error that names the setting if the thinking does not help", async () => {
    refusal = () => json(400, { error: { message: words[1] } });
    const final = await ask(new ModelClient({ sleep: async () => {} }), box());
    const message = final.type === "error" ? final.failure?.message : "";
    expect(message).toContain(words[1]);
    expect(message).toContain("compat.thinkingBack of box/some-model");
    expect(sent.length).toBeLessThan(5);
  });
});

test("a server that refuses the field gets no thinking from then on", async () => {
  refusal = (messages) =>
    answersOf(messages).some((message) => "reasoning_content" in message)
      ? json(400, { error: { message: "property 'reasoning_content' is unsupported" } })
      : undefined;
  const model = { ...box(), compat: { thinkingBack: "reasoning_content" } as const };
  expect(await ask(new ModelClient({ sleep: async () => {} }), model)).toMatchObject({ type: "done" });
  expect(sent).toHaveLength(2);
});

test("a refusal that only repeats the request changes nothing", async () => {
  refusal = () => json(400, { error: { message: "Bad tool" }, input: { reasoning_content: "x" } });
  await ask(new ModelClient({ sleep: async () => {} }), box());
  expect(sent).toHaveLength(1);
});
