import type { AssistantMessage } from "@bonsai-agent/messages";
import type { AnswerBuilder } from "../answer-builder.ts";
import { ProviderError } from "../provider.ts";

/** The code of an answer above the maximum size. */
export const ANSWER_TOO_LARGE = "answer_too_large";

/**
 * The reaction to the end of an answer. `done`: nothing. `limit`: marks the answer as cut off. `retry`: sends the request
 * again. `withheld`: fails if the answer is empty, otherwise notifies the user. `unknown`: keeps the answer and notifies
 * the user.
 */
export type AnswerEnd = "done" | "limit" | "retry" | "withheld" | "unknown";

/** Words in the reasons of all protocols. The first matching row counts: `MALFORMED_FUNCTION_CALL` is malformed. */
const rows: readonly (readonly [words: RegExp, end: AnswerEnd])[] = [
  [/malformed|unexpected_tool|rate_limit|quota/, "retry"],
  [
    /filter|sensitive|safety|refus|block|prohibit|recitation|spii|policy|moderat|guardrail|toxic|violat/,
    "withheld",
  ],
  [/length|max_|limit|context_window/, "limit"],
  [
    /error|abort|cancel|timeout|timed_out|network|insufficient|resource|memory|unavailable|overload|fail|preempt|shutdown|disconnect|interrupt/,
    "retry",
  ],
  [/stop|end|eos|tool|function|complete|finish|done/, "done"],
];

/** Finds the row of a reason in any spelling. */
export function answerEnd(rawReason: string): AnswerEnd {
  const reason = rawReason.toLowerCase().replaceAll(/[^a-z]+/g, "_");
  return rows.find(([words]) => words.test(reason))?.[1] ?? "unknown";
}

/**
 * Sets the stop reason from the provider's reason. An answer with tool calls always stops for them, because many servers
 * report "stop" there.
 * @throws ProviderError if the answer broke off, or the provider withheld all of it
 */
export function finishAnswer(answer: AnswerBuilder, rawReason: string): void {
  const end = answerEnd(rawReason);
  const { content } = answer.message;
  const isAllWithheld = end === "withheld" && content.length === 0;
  // After "retry", the server failed, even if the reason sounds like a limit of the request.
  if (isAllWithheld || end === "retry")
    throw new ProviderError({
      kind: isAllWithheld ? "refused" : "cut",
      message: `${isAllWithheld ? "The provider withheld" : "The server broke off"} the answer (${rawReason}).`,
      code: rawReason,
    });
  answer.stop(end === "limit" ? "length" : hasCalls(content) ? "toolUse" : "stop", rawReason);
}

function hasCalls(content: AssistantMessage["content"]): boolean {
  return content.some(({ type }) => type === "toolCall");
}

/**
 * Ends an answer without a reason. It is complete if the server declared it done.
 * @throws ProviderError "cut" otherwise
 */
export function finishWithoutReason(answer: AnswerBuilder, isDone: boolean): void {
  const { content } = answer.message;
  if (!isDone || content.length === 0) {
    const where = content.length === 0 ? "began" : "was complete";
    throw new ProviderError({ kind: "cut", message: `The stream ended before the answer ${where}.` });
  }
  answer.stop(hasCalls(content) ? "toolUse" : "stop");
}

/** Ends a text with a full stop if it has no end. */
export function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
