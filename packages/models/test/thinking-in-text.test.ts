import {
  everyRow,
  type LoopbackReply,
  loopbackServer,
  sseChunks,
  type WireName,
  wires,
} from "@bonsai-agent/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CatalogueModel, ModelClient, type StreamEvent } from "../src/index.ts";
import { local, sent, turnOf, user } from "./openai-exchange.ts";

let reply: LoopbackReply = {};
let server: Awaited<ReturnType<typeof loopbackServer>>;
beforeAll(async () => {
  server = await loopbackServer(() => reply);
});
afterAll(() => server.close());

async function ask(
  api: WireName,
  pieces: readonly string[],
  calls?: { id: string; name: string; arguments: string }[],
) {
  const wire = wires[api];
  const end = calls === undefined ? wire.answer({}) : wire.answer({ calls });
  const start = wire.opening("text");
  const events = [
    ...start,
    ...pieces.map((piece) => wire.piece("text", piece)),
    ...(api === "openai-chat" ? end : end.slice(1)),
  ];
  reply = { headers: { "content-type": "text/event-stream" }, chunks: sseChunks(events) };
  const model: CatalogueModel = { ...local, api, baseUrl: server.url };
  const client = new ModelClient({ retry: { maxRetries: 0 }, sleep: async () => {} });
  let shown = "";
  let last: StreamEvent | undefined;
  for await (const event of client.stream(turnOf(model))) {
    if (event.type === "text") shown += event.delta;
    last = event;
  }
  return { shown, last: last!, model };
}

const thinking = { type: "thinking", thinking: "hm" };
const yes = { type: "text", text: "Yes." };

const everyWire = everyRow(Object.keys(wires) as WireName[]);

test("tagged thinking is not shown as text, however it is cut", () =>
  everyWire((api) =>
    everyRow(["<think>hm</think>\n\nYes.", "\n<thinking>hm</thinking>Yes.", "[THINK]hm[/THINK]\nYes."])(
      async (answer) => {
        for (const pieces of [[answer], [...answer]]) {
          const { shown, last } = await ask(api, pieces);
          expect(last).toMatchObject({ type: "done", message: { content: [thinking, yes] } });
          expect(shown).toBe("Yes.");
        }
      },
    ),
  ));

test("text becomes thinking once a closing tag without an opening tag arrives", () =>
  everyWire(async (api) => {
    const { last } = await ask(api, [..."hm\n</think>\n\nYes."]);
    expect(last.message.content).toEqual([thinking, yes]);
  }));

test("a closing tag inside a sentence is text", () =>
  everyWire(async (api) => {
    const text = "The tag </think> closes the block, and so on.";
    const { shown, last } = await ask(api, [...text]);
    expect(last.message.content).toEqual([{ type: "text", text }]);
    expect(shown).toBe(text);
  }));

test("an answer with only the beginning of a tag is text", () =>
  everyWire(async (api) => {
    expect(await ask(api, ["<", "thi"])).toMatchObject({ shown: "<thi", last: { type: "done" } });
  }));

test("thinking without an end is no answer", () =>
  everyWire(async (api) => {
    const { last } = await ask(api, ["<think>", "hm"]);
    expect(last).toMatchObject({ type: "error", failure: { code: "answer_empty" } });
  }));

test("a call after thinking without an end is a call", () =>
  everyWire(async (api) => {
    const { last } = await ask(api, ["<think>", "hm"], [{ id: "c", name: "ls", arguments: "{}" }]);
    expect(last).toMatchObject({
      type: "done",
      message: { content: [thinking, { type: "toolCall", id: "c" }] },
    });
  }));

test("thinking from a text is not sent back as text", async () => {
  const { last, model } = await ask("openai-chat", ["<think>hm</think>Yes."]);
  expect(sent([user("a"), last.message, user("b")], model)[1]).toEqual({
    role: "assistant",
    content: "Yes.",
  });
});
