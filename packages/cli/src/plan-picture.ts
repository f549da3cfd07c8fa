import { type CompactionResult, MASK_PLACEHOLDER } from "@bonsai-agent/compaction";
import type { TokenEstimator } from "@bonsai-agent/messages";
import type { ProjectionItem } from "@bonsai-agent/session";
import { kindWord, messagePreview } from "./preview.ts";
import type { Fate, PlanPart, PlanPicture, PlanPlace } from "./views/plan-picture.ts";

/** The context that a compaction found, and how its tokens are counted. */
export interface ContextBefore {
  items: readonly ProjectionItem[];
  estimator: TokenEstimator;
}

/** The result of a compaction, or of a plan for one, as a picture of the context before it. */
export function planPicture(
  result: CompactionResult,
  { items: before, estimator }: ContextBefore,
): PlanPicture {
  const tokens = new Map(before.map((item) => [item.entryId, estimator.message(item.message)]));
  const sum = (ids: readonly string[]) => ids.reduce((total, id) => total + (tokens.get(id) ?? 0), 0);
  const masked = sum(result.maskedEntryIds) - result.maskedEntryIds.length * estimator.text(MASK_PLACEHOLDER);
  const part = (fate: Fate, ids: readonly string[], less = 0): PlanPart => ({
    fate,
    items: ids.length,
    tokens: sum(ids) - less,
  });
  const previous = before
    .filter(({ message }) => message.role === "compactionSummary")
    .map(({ entryId }) => entryId);
  const parts = [
    part("summarised", [...previous, ...result.summarizedEntryIds]),
    part("turnPrefix", result.turnPrefixEntryIds),
    part("kept", result.keptEntryIds, masked),
  ];
  return {
    parts: parts.filter(({ items }) => items > 0),
    first: placeOf(before[0]),
    cut: placeOf(before.find(({ entryId }) => entryId === result.firstKeptEntryId)),
    last: placeOf(before.at(-1)),
    splitsTurn: result.splitTurn,
    maskedItems: result.maskedEntryIds.length,
    maskedTokens: masked,
    tokensBefore: result.tokensBefore,
    tokensAfter: result.tokensAfter,
    summaryTokens: result.summary === undefined ? 0 : estimator.text(result.summary),
    readFiles: result.readFiles,
    modifiedFiles: result.modifiedFiles,
  };
}

function placeOf(item: ProjectionItem | undefined): PlanPlace | undefined {
  if (item === undefined) return undefined;
  const { entryId, message } = item;
  return { entryId, kind: kindWord(message.role), preview: messagePreview(message) };
}
