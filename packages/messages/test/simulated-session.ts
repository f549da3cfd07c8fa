import {
  type AssistantMessage,
  type Calibration,
  emptyUsage,
  type Message,
  type TokenEstimator,
  tokenEstimator,
} from "@bonsai-agent/messages";
import { estimatorOf } from "../src/count/estimate.ts";

export interface SimulatedSession {
  /** The texts of the tool results, one answer between each two. */
  texts: readonly string[];
  /** How the provider counts. */
  counts: (text: string) => number;
  /** System prompt and tools. */
  overheadTokens: number;
  model?: string;
}

/** A session whose answers report what a provider that counts so would report. */
export function simulatedSession(options: SimulatedSession): Message[] {
  const { texts, counts, overheadTokens, model = "m" } = options;
  const messages: Message[] = [];
  let context = overheadTokens;
  for (const text of texts) {
    messages.push({ role: "user", content: text, timestamp: 0 });
    context += counts(text);
    messages.push(answer(context, model));
  }
  return messages;
}

/** An answer of no words that reports a request of so many tokens. */
export function answer(requestTokens: number, model = "m", stopReason = "stop"): AssistantMessage {
  return {
    role: "assistant",
    content: [],
    api: "a",
    provider: "p",
    model,
    usage: { ...emptyUsage(), cacheRead: Math.round(requestTokens), totalTokens: Math.round(requestTokens) },
    stopReason,
    timestamp: 0,
  };
}

/** An estimator of texts and messages, corrected by a calibration. */
export function calibratedEstimator(
  { ratio }: Calibration,
  base: TokenEstimator = tokenEstimator,
): TokenEstimator {
  return estimatorOf("calibrated", (text) => Math.ceil(base.text(text) * ratio));
}

export function estimateOf(messages: readonly Message[], estimator: TokenEstimator): number {
  return messages.reduce((tokens, message) => tokens + estimator.message(message), 0);
}
