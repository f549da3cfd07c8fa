import { BonsaiError } from "@bonsai-agent/messages";
import { aiSdk } from "./formats/ai-sdk.ts";
import { anthropic } from "./formats/anthropic.ts";
import { openaiChat } from "./formats/openai-chat.ts";
import { openaiResponses } from "./formats/openai-responses.ts";
import type { Converter } from "./formats/parts.ts";

// A new format needs only its row here.
const converters = {
  "ai-sdk": aiSdk,
  "openai-chat": openaiChat,
  "openai-responses": openaiResponses,
  anthropic,
} satisfies Record<string, Converter>;

/**
 * The SDK whose messages a list contains: `ModelMessage` of `ai`, `ChatCompletionMessageParam` or `ResponseInputItem` of
 * `openai`, `MessageParam` of `@anthropic-ai/sdk`.
 */
export type MessageFormat = keyof typeof converters;

/** @throws BonsaiError `compact_format_unknown` */
export function converterFor(format: MessageFormat): Converter {
  if (Object.hasOwn(converters, format)) return converters[format];
  throw new BonsaiError({
    /** The format of a message list has an unknown name. */
    code: "compact_format_unknown",
    message: `Unknown message format: ${String(format)}.`,
    hint: `Use one of: ${Object.keys(converters).join(", ")}.`,
  });
}
