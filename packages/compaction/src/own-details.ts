import type { Entry } from "@bonsai-agent/session";

/** The details of a summary that we wrote; nothing of an extension's own. */
export function ownDetails(entry: Entry | undefined): Record<string, unknown> {
  if (entry?.type !== "compaction" && entry?.type !== "branch_summary") return {};
  if (entry.fromHook || typeof entry.details !== "object" || entry.details === null) return {};
  return entry.details as Record<string, unknown>;
}

/** The texts of a stored list; what else stands there is damage. */
export function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
