import type { AssistantMessage } from "@bonsai-agent/messages";
import type { AnswerBuilder } from "./answer-builder.ts";
import { ProviderError } from "./provider.ts";

/**
 * What Bonsai does after an answer that ended for a reason. `done`: nothing. `limit`: notes that the answer is cut off.
 * `retry`: sends the request again. `withheld`: fails where nothing came, and notifies the user where a part came.
 * `unknown`: keeps the answer and notifies the user.
 */
export type AnswerEnd = "done" | "limit" | "retry" | "withheld" | "unknown";

/** The reasons of all protocols, as words: `MALFORMED_FUNCTION_CALL` is malformed before it is a call. */
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

/** The row of a reason, however a server spells it. */
export function answerEnd(rawReason: string): AnswerEnd {
  const reason = rawReason.toLowerCase().replaceAll(/[^a-z]+/g, "_");
  return rows.find(([words]) => words.test(reason))?.[1] ?? "unknown";
}

/** True for an answer of which the provider withheld a part. */
export function isWithheld({ rawStopReason }: Pick<AssistantMessage, "rawStopReason">): boolean {
  return rawStopReason !== undefined && answerEnd(rawStopReason) === "withheld";
}

/**
 * Sets the stop reason from the provider's word for it, which is kept. Calls count for more than the word: many servers
 * say "stop" after them.
 * @throws ProviderError where the answer broke off, or the provider withheld all of it
 */
export function finishAnswer(answer: AnswerBuilder, rawReason: string): void {
  const end = answerEnd(rawReason);
  // A failure of the server, whatever the word sounds like: no limit of the request.
  if (end === "retry")
    throw new ProviderError({
      kind: "cut",
      message: `The server stopped the answer: ${rawReason}.`,
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
