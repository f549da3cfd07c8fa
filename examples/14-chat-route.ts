/**
 * A chat route of a web application: it streams an answer as UI messages. The browser sends the whole conversation each
 * time. The server stores one compaction state for each chat.
 *
 *     node 14-chat-route.ts
 */
import type { CompactState } from "@bonsai-agent/compact";
import { withCompaction } from "@bonsai-agent/compact/ai-sdk";
import {
  convertToModelMessages,
  createUIMessageStreamResponse,
  simulateReadableStream,
  streamText,
  toUIMessageStream,
  type UIMessage,
} from "ai";
import { MockLanguageModelV4 } from "ai/test";

/** A column of the table of chats, in a real program. */
const states = new Map<string, CompactState | null>();

/** The route, as in `app/api/chat/route.ts`. */
export async function POST(request: Request): Promise<Response> {
  const { id, messages } = (await request.json()) as { id: string; messages: UIMessage[] };
  const settings = { model, messages: await convertToModelMessages(messages), abortSignal: request.signal };
  const { stream } = streamText(
    withCompaction(settings, {
      settings: { window: 8_000 },
      state: states.get(id) ?? null,
      onCompaction: ({ state, report }) => {
        states.set(id, state);
        console.log(`  ${report.status}: ${report.tokensBefore} tokens, now ${report.tokensAfter}`);
      },
    }),
  );
  return createUIMessageStreamResponse({ stream: toUIMessageStream({ stream }) });
}

/** Answers with the size of its context. */
const model = new MockLanguageModelV4({
  doStream: async ({ prompt }) => {
    const total = Math.ceil(JSON.stringify(prompt).length / 4);
    const delta = `I see ${prompt.length} messages. ${"Valves are opened slowly. ".repeat(100)}`;
    const inputTokens = { total, noCache: total, cacheRead: 0, cacheWrite: 0 };
    const usage = { inputTokens, outputTokens: { total: 650, text: 650, reasoning: 0 } };
    return {
      stream: simulateReadableStream({
        chunks: [
          { type: "stream-start", warnings: [] },
          { type: "text-start", id: "1" },
          { type: "text-delta", id: "1", delta },
          { type: "text-end", id: "1" },
          { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage },
        ],
      }),
    };
  },
});

// The browser: it keeps all messages and sends them with each question.
const messages: UIMessage[] = [];
for (let turn = 1; turn <= 16; turn++) {
  messages.push(uiMessage("user", `Question ${turn}: what about valve ${turn}?`));
  const body = JSON.stringify({ id: "chat-1", messages });
  const response = await POST(new Request("http://localhost/api/chat", { method: "POST", body }));
  const events = await response.text();
  const text = [...events.matchAll(/"delta":"(.*?)"/g)].map(([, delta]) => delta).join("");
  messages.push(uiMessage("assistant", text));
  console.log(`${messages.length} messages in the browser. ${text.slice(0, text.indexOf(".") + 1)}`);
}

function uiMessage(role: "user" | "assistant", text: string): UIMessage {
  return { id: `${role}-${messages.length}`, role, parts: [{ type: "text", text }] };
}
