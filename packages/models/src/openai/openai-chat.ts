import type { AnswerBuilder } from "../answer-builder.ts";
import type { Provider, ProviderCall } from "../provider.ts";
import { RefusedFields } from "../refused-fields.ts";
import type { StreamEvent } from "../stream-event.ts";
import { ChatAnswer } from "./openai-chat-answer.ts";
import { chatRequest } from "./openai-chat-request.ts";
import { openAiStream } from "./openai-stream.ts";

/** Speaks OpenAI's Chat Completions: with OpenAI, and with every server that understands it. */
export function openaiChatProvider(): Provider {
  const fields = new RefusedFields();
  return {
    async *stream(call, answer) {
      for (;;) {
        try {
          return yield* asked({ ...call, model: fields.taught(call.model) }, answer);
        } catch (error) {
          // A refusal teaches something at most twice.
          if (answer.message.content.length > 0 || !fields.learn(call.model, error)) throw error;
        }
      }
    },
  };
}

function asked(call: ProviderCall, answer: AnswerBuilder): AsyncIterable<StreamEvent> {
  return openAiStream({
    call,
    path: "/chat/completions",
    request: chatRequest(call),
    reading: new ChatAnswer(answer),
  });
}
