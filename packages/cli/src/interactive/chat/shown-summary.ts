import type { BranchSummaryEntry, CompactionEntry } from "@bonsai-agent/session";
import { count } from "../../views/numbers.ts";
import { oneLine } from "../../views/printable.ts";

/** A compaction or a branch summary, as it is shown. */
export interface ShownSummary {
  kind: "compaction" | "branch summary";
  tokensBefore?: number;
  isUndone?: boolean;
  prose: string;
  /** What was read and modified in the part that was summarised. */
  files: { title: string; paths: string[] }[];
}

export function shownSummary(
  entry: CompactionEntry | BranchSummaryEntry,
  { isUndone = false }: { isUndone?: boolean } = {},
): ShownSummary {
  const details = (
    typeof entry.details === "object" && entry.details !== null ? entry.details : {}
  ) as Record<string, unknown>;
  const prose = typeof details.prose === "string" ? details.prose : entry.summary;
  const files = [
    { title: "Files read", paths: paths(details.readFiles) },
    { title: "Files modified", paths: paths(details.modifiedFiles) },
  ].filter((list) => list.paths.length > 0);
  const text = typeof prose === "string" ? prose : "";
  if (entry.type === "branch_summary") return { kind: "branch summary", prose: text, files };
  return { kind: "compaction", tokensBefore: entry.tokensBefore, isUndone, prose: text, files };
}

/** `[compaction] Compacted from 123,456 tokens`. */
export function summaryTitle({ kind, tokensBefore, isUndone }: ShownSummary): string {
  if (kind === "branch summary") return "[branch summary] Of the branch that was left";
  const size = typeof tokensBefore === "number" ? ` from ${count(tokensBefore)} tokens` : "";
  return `[compaction] Compacted${size}${isUndone === true ? ", undone" : ""}`;
}

function paths(list: unknown): string[] {
  if (!Array.isArray(list)) return [];
  return list.filter((path) => typeof path === "string").map((path) => oneLine(path));
}
