import type { Message } from "./message.ts";
import { bashExecutionText, contentBlocks, jsonText } from "./text.ts";

/** Tokens counted for an image, whatever its size. */
export const IMAGE_TOKENS = 1200;

/** Estimates the tokens of texts and messages. */
export interface TokenEstimator {
  readonly name: string;
  text(text: string): number;
  message(message: Message): number;
}

/** An estimator of messages made from an estimator of texts. Total: a damaged message has no tokens. */
export function estimatorOf(name: string, text: (text: string) => number): TokenEstimator {
  return { name, text, message: (message) => messageTokens(message, text) };
}

function messageTokens(message: Message, count: (text: string) => number): number {
  switch (message?.role) {
    case undefined:
    case "system":
      return 0;
    case "bashExecution":
      return message.excludeFromContext ? 0 : count(bashExecutionText(message));
    case "branchSummary":
    case "compactionSummary":
      return typeof message.summary === "string" ? count(message.summary) : 0;
    default:
      return contentTokens(message.content, count);
  }
}

function contentTokens(content: unknown, count: (text: string) => number): number {
  let images = 0;
  let text = "";
  for (const block of contentBlocks(content)) {
    if (block.type === "image") images += IMAGE_TOKENS;
    else text += blockText(block);
  }
  return images + count(text);
}

function blockText(block: Record<string, unknown>): string {
  switch (block.type) {
    case "text":
      return typeof block.text === "string" ? block.text : "";
    case "thinking":
      return typeof block.thinking === "string" ? block.thinking : "";
    case "toolCall":
      return `${typeof block.name === "string" ? block.name : ""}${jsonText(block.arguments ?? {})}`;
    default:
      return "";
  }
}
