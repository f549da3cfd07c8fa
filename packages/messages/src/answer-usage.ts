import type { AssistantMessage } from "./message.ts";
import { isRecord } from "./text/text.ts";
import { outputTokens, promptTokens, type Usage } from "./usage.ts";

/** Maximum average length of a token over an answer. */
const MAX_TOKEN_CHARS = 50;

/**
 * The usage of an answer, marked as uncounted if it is incomplete: the answer has content but no tokens, or more text
 * than its tokens can be. Scripted answers keep the usage of their scenario.
 */
export function answerUsage(answer: AssistantMessage): Usage {
  const { api, usage } = answer;
  if (!isRecord(usage) || usage.isUncounted === true || api === "scripted") return usage;
  const chars = contentChars(answer);
  const isCounted = promptTokens(usage) > 0 && chars <= MAX_TOKEN_CHARS * outputTokens(usage);
  return chars === 0 || isCounted ? usage : { ...usage, isUncounted: true };
}

function contentChars({ content }: AssistantMessage): number {
  const blocks = Array.isArray(content) ? content : [];
  return blocks.reduce((sum, block) => {
    if (block?.type === "text") return sum + textLength(block.text);
    if (block?.type === "thinking") return sum + textLength(block.thinking);
    if (block?.type !== "toolCall") return sum;
    const values = Object.values(block.arguments ?? {}).map(textLength);
    return values.reduce((all, each) => all + each, sum + textLength(block.name));
  }, 0);
}

function textLength(text: unknown): number {
  return typeof text === "string" ? text.length : 0;
}
