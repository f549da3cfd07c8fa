import { type CarryOver, earlierRequest } from "./carry-over.ts";
import { isMadeHere, texts } from "./own-details.ts";
import type { PlannedSummary } from "./rung.ts";
import { strippedSummary, summaryText } from "./summary-text.ts";

/** What a summary's details hold beside the manifest: what it carries over, and its prose. */
export function summaryDetails(carried: CarryOver, prose: string) {
  const { readFiles, modifiedFiles, recentFiles, pinned, latestRequest, extensions: carryOver } = carried;
  return {
    readFiles,
    modifiedFiles,
    recentFiles,
    prose,
    ...(pinned.length === 0 ? {} : { pinned }),
    ...(latestRequest === undefined ? {} : { latestRequest }),
    ...(carryOver === undefined ? {} : { carryOver }),
  };
}

/**
 * What details that `summaryDetails` made say, for a summary that an extension hands in: it may have changed the text.
 * Undefined for an extension's own details.
 */
export function summaryOfDetails(
  details: unknown,
  summary: string,
): Pick<PlannedSummary, "prose" | "carried"> | undefined {
  if (!isMadeHere(details)) return undefined;
  const { readFiles, modifiedFiles, recentFiles, pinned, latestRequest, prose } = details as Record<
    string,
    unknown
  >;
  const carried: CarryOver = {
    pinned: texts(pinned),
    readFiles: texts(readFiles),
    modifiedFiles: texts(modifiedFiles),
    recentFiles: texts(recentFiles),
    latestRequest: earlierRequest(latestRequest),
  };
  const isAsMade = summaryText(prose as string, carried) === summary;
  return { prose: isAsMade ? (prose as string) : strippedSummary(summary), carried };
}
