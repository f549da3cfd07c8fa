import type { Message } from "@bonsai-agent/messages";
import type { SummaryKind } from "../summariser.ts";

/** What the digest reads. */
export interface DigestInput {
  kind: SummaryKind;
  /** Oldest first, as stored. */
  messages: readonly Message[];
  /** What comes after the messages and stays in view: it mends and replaces, but is not told. */
  following?: readonly Message[];
  /** The prose that this digest updates: a former digest's or a model's. */
  previousSummary?: string;
  /** What the user asked to dwell on. */
  focus?: string;
  /** The most tokens of the result. */
  maxTokens: number;
}
