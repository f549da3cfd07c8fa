/**
 * A provider for a protocol of your own: one attempt, without retries. The client adds those, and repairs and limits.
 *
 *     node 11-own-provider.ts
 */
import { messageText } from "@bonsai-agent/messages";
import {
  type CatalogueModel,
  finalEvent,
  ModelClient,
  type Provider,
  ProviderError,
} from "@bonsai-agent/models";

let attempts = 0;
const parrot: Provider = {
  async *stream({ messages, signal }, answer) {
    signal.throwIfAborted();
    attempts += 1;
    if (attempts === 1) throw new ProviderError({ kind: "refused", status: 503, message: "Try later." });
    yield answer.text(`${messageText(messages.at(-1)!)}! `);
    yield answer.text("Polly repeats.");
    answer.setUsage({ input: 10, output: 6, cacheRead: 0, cacheWrite: 0 });
    answer.stop("stop");
  },
};

const model: CatalogueModel = {
  provider: "parrot",
  id: "grey",
  name: "Grey",
  api: "extension",
  baseUrl: "",
  input: ["text"],
  reasoning: false,
  contextWindow: 8_000,
  maxOutputTokens: 1_000,
};
const client = new ModelClient({ retry: { baseDelayMs: 10 } });
client.serve("parrot", parrot); // answers for models with the api "extension"
const { message } = await finalEvent(
  client.stream({
    model,
    purpose: "turn",
    systemPrompt: "",
    tools: [],
    messages: [{ role: "user", content: "Hello", timestamp: 0 }],
    onNotice: ({ type }) => console.log(`notice: ${type}`),
  }),
);
console.log(`${messageText(message)} (${message.usage.totalTokens} tokens)`);
