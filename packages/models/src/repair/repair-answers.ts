import type { AssistantContent } from "@bonsai-agent/messages";
import { isOwnAnswer } from "../own-answer.ts";
import { mended, type RepairContext, type RepairPass } from "./repair-pass.ts";

/**
 * A failed answer is left out: what there is of it was never confirmed, and the request was or will be repeated. Of an
 * aborted one the text stays, because the user saw it and may speak of it; its calls were not run, and its thinking is
 * not signed to the end. Where nothing had come yet, nothing is missing that one would tell of.
 */
export const repairAnswers: RepairPass = (messages, { found }) =>
  mended(messages, (message) => {
    if (message.role !== "assistant") return message;
    const { stopReason, content } = message;
    if (stopReason !== "error" && stopReason !== "aborted") return message;
    const text = stopReason === "error" ? [] : content.filter(isSaid);
    if (text.length === content.length && text.length > 0) return message;
    if (content.length > 0) found("failed_answer");
    return text.length === 0 ? undefined : { ...message, content: text };
  });

/** Leaves out thinking that the provider would not accept. */
export const repairThinking: RepairPass = (messages, context) => {
  const changedAtMs = lastChange(messages, context);
  const { dropThinkingUpToMs: dropUpToMs } = context;
  return mended(messages, (message) => {
    if (message.role !== "assistant") return message;
    const isDropped = dropUpToMs !== undefined && !(message.timestamp > dropUpToMs);
    const isForeign = !isOwnAnswer(message, context.model);
    const content = mended(message.content, (block) => {
      if (block.type !== "thinking") return isDropped ? unsigned(block) : block;
      const isBound = isForeign || isDropped || (isSigned(block) && message.timestamp < changedAtMs);
      if (!isBound) return block;
      context.found("bound_thinking");
      return undefined;
    });
    return content === message.content ? message : { ...message, content: [...content] };
  });
};

/**
 * What stands behind a compaction's summary and is older than it was said in another context. Where the context was
 * edited later, the caller knows.
 */
function lastChange(messages: Parameters<RepairPass>[0], context: RepairContext): number {
  const summaries = messages.filter((message) => message.role === "compactionSummary");
  return summaries.reduce(
    (latest, { timestamp }) => (timestamp > latest ? timestamp : latest),
    context.prefixChangedAtMs ?? Number.NEGATIVE_INFINITY,
  );
}

function isSigned(block: Extract<AssistantContent, { type: "thinking" }>): boolean {
  return block.thinkingSignature !== undefined || block.redacted === true;
}

/** Texts and calls are bound by their signatures too; without them they are sound. */
function unsigned(block: Exclude<AssistantContent, { type: "thinking" }>): AssistantContent {
  if (block.type === "text") {
    if (block.textSignature === undefined) return block;
    const { textSignature: _, ...text } = block;
    return text;
  }
  if (block.thoughtSignature === undefined) return block;
  const { thoughtSignature: _, ...call } = block;
  return call;
}

function isSaid(block: AssistantContent): boolean {
  return block.type === "text" && block.text.trim() !== "";
}
