import type { findRecalled } from "@bonsai-agent/agent";
import { oneLine } from "./terminal-text.ts";

/** An entry that the model no longer sees and that matches a search. */
export type RecallHit = Awaited<ReturnType<typeof findRecalled>>["hits"][number];

/** The best lines of a hit. */
export function bestLines({ entry, lines }: RecallHit): string {
  const all = entry.text.split("\n");
  return lines.map((line) => oneLine(all[line - 1] ?? "", 200)).join(" … ");
}

/** Id, author and time of a hit. */
export function recallHitTitle({ entry: { entryId, who, time } }: RecallHit): string {
  return `${entryId.slice(0, 8)} ${oneLine(who, 60)} ${time}`;
}

/** A hit on one line. */
export function recallHitText(hit: RecallHit): string {
  return `${recallHitTitle(hit)}: ${bestLines(hit)}`;
}
