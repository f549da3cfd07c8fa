import type { CompactionResult } from "@bonsai-agent/compaction";
import type { ProjectionItem } from "@bonsai-agent/session";
import { kindWord, messagePreview } from "./preview.ts";
import type { PlanPart, PlanPicture, PlanPlace } from "./views/plan-picture.ts";

/** The result of a compaction, or of a plan for one, as a picture of the context before it. */
export function planPicture(result: CompactionResult, before: readonly ProjectionItem[]): PlanPicture {
  const { sizes, keptEntryIds, turnPrefixEntryIds, maskedEntryIds } = result;
  const kept = result.status === "masked" ? before.length : keptEntryIds.length;
  const parts: PlanPart[] = [
    { fate: "fixed", items: 0, tokens: sizes.fixedTokens },
    {
      fate: "summarised",
      // The summary of an earlier compaction is in none of the lists.
      items: before.length - turnPrefixEntryIds.length - kept,
      tokens: sizes.summarisedTokens,
    },
    { fate: "turnPrefix", items: turnPrefixEntryIds.length, tokens: sizes.turnPrefixTokens },
    { fate: "masked", items: 0, tokens: sizes.maskedTokens },
    { fate: "kept", items: kept, tokens: sizes.keptTokens },
  ];
  return {
    parts: parts.filter(({ items, tokens }) => items > 0 || tokens > 0),
    first: placeOf(before[0]),
    cut: placeOf(before.find(({ entryId }) => entryId === result.firstKeptEntryId)),
    last: placeOf(before.at(-1)),
    splitsTurn: result.splitTurn,
    maskedItems: maskedEntryIds.length,
    tokensBefore: result.tokensBefore,
    tokensAfter: result.tokensAfter,
    summaryTokens: sizes.summaryTokens,
    isSummaryExpected: result.summary === undefined && sizes.summaryTokens > 0,
    readFiles: result.readFiles,
    modifiedFiles: result.modifiedFiles,
  };
}

function placeOf(item: ProjectionItem | undefined): PlanPlace | undefined {
  if (item === undefined) return undefined;
  const { entryId, message } = item;
  return { entryId, kind: kindWord(message.role), preview: messagePreview(message) };
}
