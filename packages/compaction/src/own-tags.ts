/** The tags of what we carry over by ourselves, in the order in which they stand in a summary. */
export const ownTags: readonly string[] = ["pinned", "read-files", "modified-files", "latest-request"];
