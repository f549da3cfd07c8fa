import type { Message } from "./message.ts";
import { bashExecutionText, contentBlocks } from "./text.ts";

/** Tokens counted for an image, whatever its size. */
export const IMAGE_TOKENS = 1200;

/** Estimates the tokens of texts and messages. */
export interface TokenEstimator {
  readonly name: string;
  text(text: string): number;
  message(message: Message): number;
}

/** ceil(UTF-16 code units / 4): the field's plain estimate. Too low on code, far too low on CJK text. */
export function chars4(text: string): number {
  return Math.ceil(text.length / 4);
}

/** An estimator of messages made from an estimator of texts. */
export function estimatorOf(name: string, text: (text: string) => number): TokenEstimator {
  return { name, text, message: (message) => messageTokens(message, text) };
}

export const chars4Estimator: TokenEstimator = estimatorOf("chars4", chars4);

function messageTokens(message: Message, count: (text: string) => number): number {
  switch (message.role) {
    case "system":
      return 0;
    case "bashExecution":
      return message.excludeFromContext ? 0 : count(bashExecutionText(message));
    case "branchSummary":
    case "compactionSummary":
      return count(message.summary);
    default:
      return contentTokens(message.content, count);
  }
}

function contentTokens(content: unknown, count: (text: string) => number): number {
  let images = 0;
  let text = "";
  for (const block of contentBlocks(content)) {
    if (block.type === "image") images += IMAGE_TOKENS;
    else if (block.type === "text") text += block.text ?? "";
    else if (block.type === "thinking") text += block.thinking ?? "";
    else if (block.type === "toolCall") text += `${block.name}${JSON.stringify(block.arguments ?? {})}`;
  }
  return images + count(text);
}
