import {
  type AssistantMessage,
  chars4Estimator,
  contextTokens,
  type Message,
  type Usage,
} from "@bonsai-agent/messages";
import type { Entry } from "@bonsai-agent/session";

/** Settings as pi has them by default. */
export const DEFAULT_COMPACTION_SETTINGS = { enabled: true, reserveTokens: 16_384, keepRecentTokens: 20_000 };

/** The tokens that the context held when an answer was done. */
export function calculateContextTokens(usage: Usage): number {
  return contextTokens(usage);
}

/** A quarter of the characters, rounded up. */
export function estimateTokens(message: Message): number {
  return chars4Estimator.message(message);
}

/** True where what is kept free for the answer is touched. */
export function shouldCompact(
  tokens: number,
  contextWindow: number,
  { enabled, reserveTokens }: { enabled: boolean; reserveTokens: number },
): boolean {
  return enabled && tokens > contextWindow - reserveTokens;
}

/** The usage of the last answer that neither failed nor was stopped. */
export function getLastAssistantUsage(entries: readonly Entry[]): Usage | undefined {
  const isGood = ({ stopReason, usage }: AssistantMessage) =>
    stopReason !== "aborted" && stopReason !== "error" && usage !== undefined;
  const messages = entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
  const last = messages.findLast(
    (message) => message.role === "assistant" && isGood(message as AssistantMessage),
  );
  return (last as AssistantMessage | undefined)?.usage;
}

export function getLatestCompactionEntry(entries: readonly Entry[]): Entry | null {
  return entries.findLast(({ type }) => type === "compaction") ?? null;
}
