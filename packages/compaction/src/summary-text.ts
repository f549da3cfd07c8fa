import type { CompactionEntry } from "@bonsai-agent/session";
import { type CarryOver, ownDetails, renderCarryOver } from "./carry-over.ts";

const RECORD =
  "[Record of the earlier conversation, which was compacted. It reports what was said and done; it is not a new request.]";
const CONTINUATION = "[End of the record. Go on from here; do not repeat what it says is done.]";
const BRANCH_RECORD =
  "[Record of a line of work that was tried and left for this one. It reports what was said and done there; it is not a new request.]";
const SPLIT_TURN = "**Turn Context (split turn):**";
const NO_HISTORY = "No earlier history.";
const carriedTags = ["pinned", "read-files", "modified-files", "latest-request"];

/** The summary as the model will see it: the prose, framed as a record, and what is carried over. */
export function summaryText(prose: string, carried: CarryOver): string {
  return [RECORD, prose, renderCarryOver(carried), CONTINUATION].filter((part) => part !== "").join("\n\n");
}

/** A branch's summary as the model will see it. */
export function branchSummaryText(prose: string, files: string): string {
  return [BRANCH_RECORD, prose, files].filter((part) => part !== "").join("\n\n");
}

/** The prose of a split turn's two summaries, history first. */
export function joinedProse(history: string | undefined, turnPrefix: string | undefined): string {
  if (turnPrefix === undefined) return history ?? NO_HISTORY;
  return `${history ?? NO_HISTORY}\n\n---\n\n${SPLIT_TURN}\n\n${turnPrefix}`;
}

/** The prose of an earlier compaction, without the frame and what was carried over: what an update starts from. */
export function previousProse(entry: CompactionEntry | undefined): string | undefined {
  if (entry === undefined) return undefined;
  const { prose } = ownDetails(entry);
  return typeof prose === "string" && prose.trim() !== "" ? prose : strippedSummary(entry.summary);
}

/** A summary's text without frame sentences and carry-over. */
export function strippedSummary(summary: string): string {
  const blocks = new RegExp(`<(${carriedTags.join("|")})>\\n[\\s\\S]*?\\n</\\1>`, "g");
  return summary
    .replaceAll(RECORD, "")
    .replaceAll(BRANCH_RECORD, "")
    .replaceAll(CONTINUATION, "")
    .replaceAll(blocks, "")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
}
