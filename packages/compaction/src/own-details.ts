import type { Entry } from "@bonsai-agent/session";

/** The details of a summary that was made here; nothing of an extension's own. */
export function ownDetails(entry: Entry | undefined): Record<string, unknown> {
  if (entry?.type !== "compaction" && entry?.type !== "branch_summary") return {};
  const { details } = entry;
  if (typeof details !== "object" || details === null) return {};
  return entry.fromHook && !isMadeHere(details) ? {} : (details as Record<string, unknown>);
}

/** True for details that go with a summary of ours: an extension can have one made and hand it in as its own. */
export function isMadeHere(details: unknown): details is { prose: string; recentFiles: unknown[] } {
  const { prose, recentFiles } = (details ?? {}) as Record<string, unknown>;
  return typeof prose === "string" && Array.isArray(recentFiles);
}

/** The texts of a stored list; what else stands there is damage. */
export function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
