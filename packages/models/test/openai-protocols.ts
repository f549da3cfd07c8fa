import {
  delta,
  finish,
  gpt,
  local,
  responseEnd,
  responsesOf,
  streamOf,
  usageChunk,
} from "./openai-exchange.ts";

export const protocols = [
  ["chat", local],
  ["responses", gpt],
] as const;

export const tooLong =
  "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.";

export const wholeChat = streamOf([
  delta({ content: "All." }),
  finish(),
  usageChunk({ prompt_tokens: 9 }),
  "[DONE]",
]);

export const wholeResponses = responsesOf([
  { type: "response.output_text.delta", output_index: 0, delta: "All." },
  responseEnd(),
]);

export const whole = [
  ["chat", local, wholeChat],
  ["responses", gpt, wholeResponses],
] as const;
