import { type Entry, type EntryDraft, LEAF_CUSTOM_TYPE } from "./entry.ts";
import { randomHex } from "./random-hex.ts";

export interface CopiedPath {
  /** Ids of the copied entries. */
  ids: Set<string>;
  /** The last of them. */
  end: string | null;
  /** Labels and names of the whole origin, in file order. */
  metadata: readonly Entry[];
  now: Date;
}

/**
 * The entries that a fork needs after its copied path, so that labels and name are what they were in the
 * origin: those that were set on other branches, or changed later. The leaf stays where the path ends.
 */
export function carriedMetadata({ ids, end, metadata, now }: CopiedPath): Entry[] {
  const wanted = state(metadata);
  const copied = state(metadata.filter(({ id }) => ids.has(id)));
  const drafts: EntryDraft[] = [];
  for (const [targetId, label] of wanted.labels) {
    if (!ids.has(targetId) || copied.labels.get(targetId) === label) continue;
    drafts.push({ type: "label", targetId, ...(label === undefined ? {} : { label }) });
  }
  if (wanted.name !== copied.name) {
    drafts.push({ type: "session_info", ...(wanted.name === undefined ? {} : { name: wanted.name }) });
  }
  return chained(drafts, { end, timestamp: now.toISOString(), taken: ids });
}

interface MetadataState {
  labels: Map<string, string | undefined>;
  name: string | undefined;
}

function state(entries: readonly Entry[]): MetadataState {
  const found: MetadataState = { labels: new Map(), name: undefined };
  for (const entry of entries) {
    if (entry.type === "label") found.labels.set(entry.targetId, entry.label);
    if (entry.type === "session_info") found.name = entry.name;
  }
  return found;
}

/** One chain below the path, and a record that the leaf is still the path's end. */
function chained(
  drafts: readonly EntryDraft[],
  { end, timestamp, taken }: { end: string | null; timestamp: string; taken: Set<string> },
): Entry[] {
  if (drafts.length === 0) return [];
  let parentId = end;
  const entries = drafts.map((draft) => {
    const entry = { ...draft, id: newId(taken), parentId, timestamp };
    parentId = entry.id;
    return entry;
  });
  const leaf = {
    type: "custom" as const,
    customType: LEAF_CUSTOM_TYPE,
    id: newId(taken),
    parentId: end,
    timestamp,
  };
  return [...entries, leaf];
}

function newId(taken: Set<string>): string {
  let id: string;
  do id = randomHex(4);
  while (taken.has(id));
  taken.add(id);
  return id;
}
