import { count as digits } from "@bonsai-agent/messages/numbers";
import type { CompactionReason } from "../details.ts";

export type CompactionStatus =
  | "planned"
  | "compacted"
  | "masked"
  | "nothing-to-compact"
  | "already-compacted"
  | "cancelled"
  | "failed";

/** The done steps, each as a number of messages. */
export interface CompactionSteps {
  /** Old outputs of tools and commands, replaced by a placeholder. */
  masked: number;
  summarised: number;
  /** Messages whose images were removed. */
  withoutMedia: number;
  /** Outputs or pasted texts, cut to head and tail. */
  shortened: number;
}

/** The ending of one call of the controller. */
export interface CompactionOutcome {
  status: "compacted" | "masked" | "skipped" | "cancelled" | "failed";
  reason: CompactionReason;
  /** One sentence for the user. */
  detail: string;
  /** Tokens of the whole request, system prompt and tools included: from the provider's last report, else estimated. */
  tokensBefore: number;
  /** The estimated part of `tokensBefore`; 0 if a provider reported all of it. */
  estimatedTokensBefore: number;
  /** An estimate of the same request with the new summary. In a plan, the summary's length is a guess. */
  tokensAfter: number;
  /** The done steps, or those of a plan. Absent if nothing changed. */
  steps?: CompactionSteps;
  /** The extension that cancelled, or that supplied the summary. */
  decidedBy?: string;
  /** Set if keeping less would leave something to summarise. */
  isAllRecent?: true;
  /** With the status `cancelled`, if the user reviewed the compaction and declined it. */
  isDeclined?: true;
  /** With the status `failed`, if a model's summary failed and the settings kept the digest from replacing it. */
  digestIsUntried?: true;
  /** With the status `failed`, if there was nothing to summarise, mask or cut. */
  isAtMinimum?: true;
}

/** "masked 5 old results, shortened 1 message", in the order of the steps. */
export function stepsText({ masked, summarised, withoutMedia, shortened }: CompactionSteps): string {
  const done = [
    stepText("masked", masked, "old result"),
    stepText("summarised", summarised, "message"),
    stepText("removed the images of", withoutMedia, "message"),
    stepText("shortened", shortened, "message"),
  ];
  return done.filter((each) => each !== "").join(", ");
}

function stepText(verb: string, count: number, noun: string): string {
  return count === 0 ? "" : `${verb} ${digits(count)} ${noun}${count === 1 ? "" : "s"}`;
}
