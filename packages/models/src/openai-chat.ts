import { ChatAnswer } from "./openai-chat-answer.ts";
import { chatRequest } from "./openai-chat-request.ts";
import { openAiStream } from "./openai-stream.ts";
import type { Provider } from "./provider.ts";

/** Speaks OpenAI's Chat Completions: with OpenAI, and with every server that understands it. */
export function openaiChatProvider(): Provider {
  return {
    stream: (call, answer) =>
      openAiStream({
        call,
        path: "/chat/completions",
        request: chatRequest(call),
        reading: new ChatAnswer(answer),
      }),
  };
}
