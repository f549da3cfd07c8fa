import { type AssistantMessage, callsIn, inputTokens, messageText } from "@bonsai-agent/messages";
import { count as digits, tokensText } from "@bonsai-agent/messages/numbers";
import type { AnswerBuilder } from "../answer-builder.ts";
import type { CatalogueModel } from "../model.ts";
import { type ModelFailure, UNSEEN_INPUT_TOKENS } from "../model-request.ts";
import { ProviderError } from "../provider.ts";
import { namesFullContext } from "./refusal-judge.ts";

/** The code of an answer above the maximum size. */
export const ANSWER_TOO_LARGE = "answer_too_large";

/** The code of an answer without text and calls that ended without a failure. */
export const EMPTY_ANSWER = "answer_empty";

/** Any character except blanks and invisible ones, such as a zero-width space. */
const VISIBLE = /[^\s\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}]/u;

/** Returns the failure of an answer without text and calls; undefined for other answers. */
export function emptyAnswer(
  { provider, id: modelId }: CatalogueModel,
  answer: AssistantMessage,
): ModelFailure | undefined {
  if (callsIn(answer).length > 0 || VISIBLE.test(messageText(answer))) return undefined;
  const failure = { kind: "other", code: EMPTY_ANSWER, provider, modelId, retryOnce: true } as const;
  // The same cap would cut off the next answer too.
  if (answer.stopReason === "length") {
    const message = "The model reached its output limit before it wrote any text.";
    return { ...failure, message, retryable: false };
  }
  const hasThought = answer.content.some(({ type }) => type === "thinking");
  const message = hasThought
    ? "The model only produced thinking: its answer has no text and no tool call."
    : "The model's answer was empty.";
  return { ...failure, message, retryable: true };
}

/** Share of the window: a larger input that leaves no token for an answer has filled it. */
const FULL = 0.99;
/** As FULL, for an answer without any block: the server's window may be smaller than the known one. */
const LIKELY_FULL = 0.5;

/** Maximum ratio of an input that overflowed to the request's estimate. A larger count is wrong: no window was exceeded. */
const MAX_ESTIMATES = 1.5;

interface SilentOverflowOptions {
  model: CatalogueModel;
  answer: AssistantMessage;
  estimatedTokens?: number | undefined;
  /** The request's size, if the server read only a part of it. */
  cutOffTokens?: number | undefined;
}

/** Returns the failure of an overflow that the provider reported as a success; undefined for other answers. */
export function silentOverflow(options: SilentOverflowOptions): ModelFailure | undefined {
  const { model, answer, cutOffTokens } = options;
  const message = reasonOf(options);
  if (message === undefined) return undefined;
  const windowTokens = model.contextWindow ?? 0;
  const sentTokens = cutOffTokens ?? inputTokens(answer.usage);
  return {
    kind: "inputTooLong",
    message,
    provider: model.provider,
    modelId: model.id,
    retryable: false,
    silent: true,
    ...(sentTokens > 0 && { inputTokens: sentTokens }),
    ...(windowTokens > 0 && { windowTokens }),
  };
}

function reasonOf(options: SilentOverflowOptions): string | undefined {
  const { model, answer, estimatedTokens = Number.POSITIVE_INFINITY, cutOffTokens } = options;
  const { usage, stopReason, rawStopReason } = answer;
  if (rawStopReason !== undefined && namesFullContext(rawStopReason))
    return "The answer ended because the context window was full.";
  const windowTokens = model.contextWindow ?? 0;
  if (windowTokens <= 0) return undefined;
  const window = digits(windowTokens);
  if (cutOffTokens !== undefined)
    return `The request had ${tokensText(cutOffTokens, true)}, but the provider cut it to its context window of ${window} tokens.`;
  const sentTokens = inputTokens(usage);
  const isCut = stopReason === "length" && usage.output === 0;
  if (isCut && answer.content.length === 0 && sentTokens >= windowTokens * LIKELY_FULL)
    return "The server stopped for length before the first token: the request fills its context window.";
  const isFull = isCut && sentTokens >= windowTokens * FULL;
  const maxTokens = estimatedTokens * MAX_ESTIMATES + UNSEEN_INPUT_TOKENS;
  if (!isFull && (sentTokens <= windowTokens || sentTokens > maxTokens)) return undefined;
  return `The provider answered, but the request of ${digits(sentTokens)} tokens fills the model's context window of ${window} tokens.`;
}

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
