import { type CarryOver, earlierRequest } from "./carry-over.ts";
import { isMadeHere, texts } from "./own-details.ts";

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

/** What details that `summaryDetails` made say; undefined for an extension's own. */
export function summaryOfDetails(details: unknown): { prose: string; carried: CarryOver } | undefined {
  if (!isMadeHere(details)) return undefined;
  const stored: Record<string, unknown> = { ...details };
  return {
    prose: details.prose,
    carried: {
      pinned: texts(stored.pinned),
      readFiles: texts(stored.readFiles),
      modifiedFiles: texts(stored.modifiedFiles),
      recentFiles: texts(stored.recentFiles),
      latestRequest: earlierRequest(stored.latestRequest),
    },
  };
}
