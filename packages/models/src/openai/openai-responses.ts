import type { Provider } from "../provider.ts";
import { ResponsesAnswer } from "./openai-responses-answer.ts";
import { responsesRequest } from "./openai-responses-request.ts";
import { openAiStream } from "./openai-stream.ts";

/** Speaks OpenAI's Responses API: with OpenAI, and with servers that understand it. Nothing is stored there. */
export function openaiResponsesProvider(): Provider {
  return {
    stream: (call, answer) =>
      openAiStream({
        call,
        path: "/responses",
        request: responsesRequest(call),
        reading: new ResponsesAnswer(answer),
      }),
  };
}
