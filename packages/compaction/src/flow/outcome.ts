import { tokensText } from "@bonsai-agent/messages";
import { count as digits } from "@bonsai-agent/messages/numbers";
import type { CompactionEntry } from "@bonsai-agent/session";
import { type CompactionReason, manifestOf, type RungName } from "../carry/details.ts";

/** True for a step that asks a model. */
export function isModelRung(rung: RungName | undefined): boolean {
  return rung === "summarise" || rung === "chunks";
}

/** What a compaction did, step by step; each a number of messages. */
export interface CompactionSteps {
  /** Old outputs of tools and of commands that were replaced by a placeholder. */
  masked: number;
  summarised: number;
  /** Messages whose images were left out. */
  withoutMedia: number;
  /** Outputs, or pasted texts, that were cut to head and tail. */
  shortened: number;
}

/** How one call of the controller ended. */
export interface CompactionOutcome {
  status: "compacted" | "masked" | "skipped" | "cancelled" | "failed";
  reason: CompactionReason;
  /** One sentence for people. */
  detail: string;
  /** Of the whole request: system prompt and tools with it, as far as they are known. */
  tokensBefore: number;
  /** The estimated part of `tokensBefore`; 0 where a provider reported all of it. */
  estimatedTokensBefore: number;
  /** Of the same, with the summary and all that it carries: always an estimate. The same as before where nothing changed. */
  tokensAfter: number;
  /** With the status `compacted` or `masked`. */
  steps?: CompactionSteps;
  /** The extension that did not let it happen, or whose summary stands; absent where none had a say. */
  decidedBy?: string;
  /** With the status `skipped`: the whole context is recent enough to be kept. */
  isAllRecent?: true;
  /** With the status `cancelled`, where the user has looked at it and said no. */
  isDeclined?: true;
  /** With the status `failed`, where a model's summary failed and the settings kept the digest from standing in. */
  digestIsUntried?: true;
  /** With the status `failed`: there was nothing to summarise, mask or cut. */
  isAtMinimum?: true;
}

/** "masked 5 old results, shortened 1 message": in the order in which it was done. */
export function stepsText({ masked, summarised, withoutMedia, shortened }: CompactionSteps): string {
  const done = [
    counted("masked", masked, "old result"),
    counted("summarised", summarised, "message"),
    counted("removed the images of", withoutMedia, "message"),
    counted("shortened", shortened, "message"),
  ];
  return done.filter((each) => each !== "").join(", ");
}

function counted(verb: string, count: number, noun: string): string {
  return count === 0 ? "" : `${verb} ${digits(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** What somebody's code threw, in words. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** How large the context was before a compaction, with its unit; undefined where that is damaged. */
export function sizeBeforeText(compaction: CompactionEntry): string | undefined {
  const { tokensBefore } = compaction;
  if (!Number.isFinite(tokensBefore)) return undefined;
  return tokensText(tokensBefore, Number(manifestOf(compaction)?.estimatedTokensBefore) > 0);
}
