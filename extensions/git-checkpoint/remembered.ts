import type { ExtensionContext } from "@bonsai-agent/extension";
import type { Snapshot } from "./repository.ts";

/** The custom type of the session's entries. */
export const TYPE = "git-checkpoint";

/** A snapshot in the session. */
export interface Checkpoint extends Snapshot {
  /** The entry with these files; null: before the first entry. */
  entryId: string | null;
  /** ISO 8601. */
  at: string;
  /** For people. */
  label: string;
  /** True if it belongs to another place in the tree than its own entry. */
  isElsewhere?: boolean;
}

/** All checkpoints of the session, oldest first; `id` is their own entry's. */
export function rememberedCheckpoints({ sessionManager }: ExtensionContext): (Checkpoint & { id: string })[] {
  return sessionManager.getEntries().flatMap((entry) => {
    if (entry.type !== "custom" || entry.customType !== TYPE) return [];
    const data = entry.data as Partial<Checkpoint> | undefined;
    const isWhole = [data?.commit, data?.tree].every((id) => /^[0-9a-f]{40,64}$/.test(id ?? ""));
    return isWhole ? [{ entryId: null, at: "", label: "", ...(data as Snapshot), id: entry.id }] : [];
  });
}

/** The latest one at the nearest entry on the way to the root. */
export function checkpointAt(ctx: ExtensionContext, leafId: string | null): Checkpoint | undefined {
  const all = new Map<string, Checkpoint>();
  for (const checkpoint of rememberedCheckpoints(ctx)) {
    all.set(checkpoint.entryId ?? "", checkpoint);
    if (checkpoint.isElsewhere !== true) all.set(checkpoint.id, checkpoint);
  }
  const way = leafId === null ? [] : ctx.sessionManager.getBranch(leafId).toReversed();
  return all.get(way.find(({ id }) => all.has(id))?.id ?? "");
}

/** The nearest message, summary or compaction at or before an entry. */
export function messageAt({ sessionManager }: ExtensionContext, leafId: string | null): string | null {
  const way = leafId === null ? [] : sessionManager.getBranch(leafId);
  return way.findLast(({ type }) => /message|summary|compaction/.test(type))?.id ?? null;
}
