import type { AssistantMessage } from "@bonsai-agent/messages";
import type { AnswerBuilder } from "./answer-builder.ts";
import { ProviderError } from "./provider.ts";

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

/** True if the provider withheld a part of the answer. */
export function isWithheld({ rawStopReason }: Pick<AssistantMessage, "rawStopReason">): boolean {
  return rawStopReason !== undefined && answerEnd(rawStopReason) === "withheld";
}

/**
 * Sets the stop reason from the provider's reason. An answer with tool calls always stops for them, because many servers
 * report "stop" there.
 * @throws ProviderError if the answer broke off, or the provider withheld all of it
 */
export function finishAnswer(answer: AnswerBuilder, rawReason: string): void {
  const end = answerEnd(rawReason);
  // The server failed, even if the reason sounds like a limit of the request.
  if (end === "retry")
    throw new ProviderError({
      kind: "cut",
      message: `The server broke off the answer (${rawReason}).`,
      code: rawReason,
    });
  const { content } = answer.message;
  if (end === "withheld" && content.length === 0)
    throw new ProviderError({
      kind: "refused",
      message: `The provider withheld the answer (${rawReason}).`,
      code: rawReason,
    });
  const hasCalls = content.some(({ type }) => type === "toolCall");
  answer.stop(end === "limit" ? "length" : hasCalls ? "toolUse" : "stop", rawReason);
}
