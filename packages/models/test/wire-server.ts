import {
  type LoopbackReply,
  type LoopbackServer,
  loopbackServer,
  sseChunks,
  type WireName,
} from "@bonsai-agent/testkit";
import { afterAll, beforeAll } from "vitest";
import { type CatalogueModel, finalEvent, ModelClient, type ModelNotice } from "../src/index.ts";
import { local, turnOf, user } from "./openai-exchange.ts";

export type WireEvents = readonly { event?: string | undefined; data: unknown }[];

/** One server for a test file; each request of `ask` gets the events that it names. */
export function wireServer() {
  let reply: LoopbackReply = {};
  let requests = 0;
  let server: LoopbackServer;
  beforeAll(async () => {
    server = await loopbackServer(() => {
      requests += 1;
      return reply;
    });
  });
  afterAll(() => server.close());

  async function ask(
    api: WireName,
    events: WireEvents,
    text = "Hello",
    client = new ModelClient({ retry: { maxRetries: 1 }, sleep: async () => {} }),
  ) {
    reply = { headers: { "content-type": "text/event-stream" }, chunks: sseChunks(events) };
    requests = 0;
    const model: CatalogueModel = { ...local, api, baseUrl: server.url };
    const notices: ModelNotice[] = [];
    const onNotice = (notice: ModelNotice) => void notices.push(notice);
    const final = await finalEvent(client.stream(turnOf(model, { messages: [user(text)], onNotice })));
    return { final, notices, requests };
  }
  return { ask };
}
