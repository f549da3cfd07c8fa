import type { Message } from "@bonsai-agent/messages";
import { everyRow, type LoopbackReply, type LoopbackServer, loopbackServer } from "@bonsai-agent/testkit";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type CatalogueModel, finalEvent, ModelClient } from "../src/index.ts";
import {
  answerOf,
  at,
  callOfTool,
  delta,
  finish,
  resultOf,
  streamOf,
  turnOf,
  user,
} from "./openai-exchange.ts";

interface WireMessage {
  role: string;
  content: unknown;
}

/** Checks the order of roles as Mistral's server does. */
function refusal(messages: readonly WireMessage[]): LoopbackReply | undefined {
  const at = messages.findIndex(({ role }, at) => role === "user" && messages[at - 1]?.role === "tool");
  if (at < 0 && !refusesAll) return undefined;
  const body = {
    object: "error",
    message: refusalText,
    type: "invalid_request_message_order",
    param: null,
    code: "3230",
  };
  return {
    status: 400,
    headers: { "content-type": "application/json" },
    chunks: [JSON.stringify(body)],
  };
}

let server: LoopbackServer;
const mistralText = "Unexpected role 'user' after role 'tool'";
let refusalText = mistralText;
/** Refuses every request for another reason. */
let refusesAll = false;
let refused = 0;
let accepted: WireMessage[][] = [];
beforeAll(async () => {
  server = await loopbackServer(({ body }) => {
    const { messages } = body as { messages: WireMessage[] };
    const refusing = refusal(messages);
    if (refusing === undefined) accepted.push(messages);
    else refused += 1;
    return refusing ?? streamOf([delta({ content: "Done." }), finish(), "[DONE]"]);
  });
});
afterAll(() => server.close());
beforeEach(() => {
  refused = 0;
  accepted = [];
  refusalText = mistralText;
  refusesAll = false;
});

const budget: Message = {
  role: "custom",
  customType: "bonsai.budget",
  content: "[Context: 50% used.]",
  display: false,
  timestamp: 0,
};
const picture = { type: "image" as const, data: "aGk=", mimeType: "image/png" };

const ask = (client: ModelClient, model: CatalogueModel, messages: readonly Message[]) =>
  finalEvent(client.stream(turnOf(model, { messages: [...messages] })));

/** The end of the context that the server accepted last. */
const endOf = (count: number) => accepted.at(-1)!.slice(-count);

const strict = (): CatalogueModel => at("mistral", server.url, "devstral-latest");
const begun = (model: CatalogueModel): Message[] => [
  user("Go"),
  answerOf(model, [callOfTool("a"), callOfTool("b")]),
  resultOf("a"),
  resultOf("b"),
];

test("a budget line is part of the last tool result, if the server refuses a user message there", async () => {
  const model = strict();
  expect(await ask(new ModelClient(), model, [...begun(model), budget])).toMatchObject({ type: "done" });
  expect(endOf(2)).toMatchObject([
    { role: "tool", content: "contents" },
    { role: "tool", content: "contents\n\n[Context: 50% used.]" },
  ]);
});

test("other messages and images after results stay a user message, after an answer", async () => {
  const model = strict();
  const pictured = { ...resultOf("b"), content: [picture] } as Message;
  await ask(new ModelClient(), model, [...begun(model), budget, user("Faster.")]);
  expect(endOf(3)).toMatchObject([
    { role: "tool", content: "contents\n\n[Context: 50% used.]" },
    { role: "assistant" },
    { role: "user", content: "Faster." },
  ]);
  await ask(new ModelClient(), model, [...begun(model).slice(0, -1), pictured, budget]);
  expect(endOf(2)).toMatchObject([
    { role: "assistant" },
    { role: "user", content: [{}, { type: "image_url" }, {}, { text: "[Context: 50% used.]" }] },
  ]);
  expect(refused).toBe(0);
});

test("the order is known by the server or the family of the model, and can be set", () =>
  everyRow<[string, string, CatalogueModel["compat"], boolean]>([
    ["mistral", "some-model", undefined, true],
    ["openrouter", "mistralai/devstral-2512", undefined, true],
    ["vllm", "mistralai/Mixtral-8x22B-Instruct-v0.1", undefined, true],
    ["vllm", "some-model", { userAfterResults: false }, true],
    ["vllm", "my-devstral", { userAfterResults: true }, false],
    ["vllm", "some-model", undefined, false],
  ])(async ([provider, id, compat, isKnown]) => {
    refused = 0;
    const model = at(provider, server.url, id, { compat });
    await ask(new ModelClient(), model, [...begun(model), budget]);
    expect(refused).toBe(isKnown ? 0 : 1);
  }));

test.each([mistralText, "Messages have the wrong sequence."])(
  "learns the order from the refusal %j, once for each client",
  async (text) => {
    refusalText = text;
    const client = new ModelClient();
    const model = at("vllm", server.url, "some-model");
    for (let round = 0; round < 2; round += 1)
      expect(await ask(client, model, [...begun(model), budget])).toMatchObject({ type: "done" });
    expect(refused).toBe(1);
  },
);

test("reports a refusal of both orders, and tries the other order once for each client", async () => {
  refusesAll = true;
  refusalText = "This is not the reason.";
  const client = new ModelClient();
  const model = at("vllm", server.url, "some-model");
  const refusal = { type: "error", failure: { message: expect.stringContaining(refusalText) } };
  for (const count of [2, 3]) {
    expect(await ask(client, model, [...begun(model), budget])).toMatchObject(refusal);
    expect(refused).toBe(count);
  }
  refusesAll = false;
  expect(await ask(client, model, begun(model))).toMatchObject({ type: "done" });
  expect(endOf(1)).toMatchObject([{ role: "tool", content: "contents" }]);
});

test("a longer context begins with the messages of the shorter one", async () => {
  const model = strict();
  const client = new ModelClient();
  const context = [...begun(model), budget];
  await ask(client, model, context);
  await ask(client, model, [...context, answerOf(model, [callOfTool("c")]), resultOf("c"), budget]);
  await ask(client, model, [...context, user("I stopped you. Go on.")]);
  const [first, ...longer] = accepted;
  for (const each of longer) expect(each.slice(0, first!.length)).toEqual(first);
});
